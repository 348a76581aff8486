from __future__ import annotations

import pytest

from voxcli.errors import InputError
from voxcli.jobs.template import parse_template


def test_fields_are_filled_and_double_braces_are_braces() -> None:
    template = parse_template("{Character}/{id}_{{x}}-{ first name }", "--name-template")
    assert template.fields == ("Character", "id", "first name")
    values = {"character": "Guard", "id": "7"}
    assert template.filled(values) == "Guard/7_{x}-"
    assert template.filled(values, str.upper) == "GUARD/7_{x}-"
    assert parse_template("plain", "--tag").filled(values) == "plain"


@pytest.mark.parametrize("text", ["{id", "id}", "{}", "{id:>5}", "{id!r}", "{ {id} }"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^--tag: ") as caught:
        parse_template(text, "--tag")
    assert "\n" not in str(caught.value)
