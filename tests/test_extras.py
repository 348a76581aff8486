"""The install hints match pyproject.toml."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from voxcli.extras import EXTRAS, install_hint, missing


def test_extras_equal_those_of_pyproject(repository: Path) -> None:
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    declared = {}
    for name, items in re.findall(r"^(\w+) = \[(.*?)\]$", section, re.MULTILINE | re.DOTALL):
        declared[name] = re.findall(r'^\s*"([\w-]+)[><=]', items.replace(", ", ",\n"), re.MULTILINE)
    for extra, packages in EXTRAS.items():
        assert sorted(packages.values()) == sorted(declared.pop(extra))
    assert declared.keys() == {"test", "speech", "lint"}, "extras for developers only"


def test_a_hint_names_the_packages() -> None:
    assert install_hint("normalize") == "pip install wetext inflect unicode-rbnf"
    assert install_hint("tables") == "pip install python-calamine"


def test_missing_packages_have_the_names_used_for_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voxcli.extras.find_spec", lambda name: object() if name == "wetext" else None)
    assert missing("normalize") == ["inflect", "unicode-rbnf"]
    assert missing("tables") == ["python-calamine"]
