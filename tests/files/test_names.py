from __future__ import annotations

import ast
from pathlib import Path

import pytest

from voxcli.files.names import unusable_name

PACKAGE = Path(__file__).parents[2] / "voxcli"
# On Python 3.10 to 3.13 these methods of Path raise for a name that is too long; those of os.path return False.
RAISING = {"exists", "is_dir", "is_file", "is_symlink"}


def calls(source: str) -> list[int]:
    """Return lines with such a call, except on entries of os.scandir, whose names exist."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RAISING
        if ast.unparse(node.func.value) not in ("os.path", "entry")
    ]


def test_no_question_about_a_path_raises() -> None:
    assert calls("os.path.exists(p)\nPath(p).is_dir()\nentry.is_dir()\na / b.exists()") == [2, 4]
    sources = [path for path in PACKAGE.rglob("*.py") if "recipe" not in path.parts]
    found = {str(path.relative_to(PACKAGE)): calls(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.wav", None),
        ("none/a.wav", None),
        ("x" * 255, None),
        ("x" * 256, "File name too long"),
        ("é" * 128, "File name too long"),
        ("none/" + "x" * 256 + "/a.wav", "File name too long"),
        ("a/" * 3000 + "a.wav", "File name too long"),
        ("a\0.wav", "it has a character that no name can have"),
        ("a\ud800.wav", "it has a character that no name can have"),
    ],
)
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str, why: str | None) -> None:
    assert unusable_name(tmp_path / name) == why
