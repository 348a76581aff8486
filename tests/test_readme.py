"""README's tables name what the code has, and its commands are those CI runs."""

from __future__ import annotations

import re
from pathlib import Path

from voxcli.errors import InputError, ModelError, VoxError
from voxcli.run.manifest import FIELD_NAMES
from voxcli.run.results import Result
from voxcli.run.settings import DEFAULTS

TEST_COMMAND = 'pip install -c constraints.txt ".[test]" && pytest'


def table(readme: str, heading: str) -> dict[str, str]:
    section = readme.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name: text for name, text in re.findall(r"^\| `?(\w+)`? \| (.+) \|$", section, re.MULTILINE)}


def test_manifest_fields(repository: Path) -> None:
    fields = table((repository / "README.md").read_text(encoding="utf-8"), "Manifests")
    assert fields.keys() - {"field"} == set(FIELD_NAMES)
    for name in ("cfg", "steps", "max_chars"):
        assert f"{getattr(DEFAULTS, name)}" in fields[name]


def test_result_fields_in_order(repository: Path) -> None:
    fields = table((repository / "README.md").read_text(encoding="utf-8"), "Results")
    assert [name for name in fields if name != "field"] == list(Result.__dataclass_fields__)


def test_exit_codes(repository: Path) -> None:
    codes = table((repository / "README.md").read_text(encoding="utf-8"), "Exit codes").keys()
    assert {str(error.exit_code) for error in (VoxError, InputError, ModelError)} | {"0", "130"} == codes - {"code"}


def test_ci_ends_with_the_test_command(repository: Path) -> None:
    assert TEST_COMMAND in (repository / "README.md").read_text(encoding="utf-8")
    last = (repository / ".ci" / "run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last == TEST_COMMAND
