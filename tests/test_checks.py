"""Every test can fail: it asserts, raises, or calls a function in the tests that does."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
CHECKS = {"raises", "warns", "fail", "assert_close", "exit"}  # functions of pytest, torch and sys that fail


class Function(NamedTuple):
    """A function. fails: it contains an assertion or similar; calls: names of the functions it calls."""

    name: str
    fails: bool
    calls: set[str]


def read(function: ast.FunctionDef) -> Function:
    inside = list(ast.walk(function))
    calls = [node for node in inside if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func) for call in calls}
    fails = any(isinstance(node, ast.Assert | ast.Raise) for node in inside) or any(
        each.arg == "check" and ast.unparse(each.value) == "True" for call in calls for each in call.keywords
    )
    return Function(
        function.name, fails, {name.rpartition(".")[2] for name in names if not name.startswith("subprocess.")}
    )


def is_always_true(node: ast.Assert) -> bool:
    either = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or) else [node.test]
    return any(isinstance(each, ast.Tuple) or (isinstance(each, ast.Constant) and each.value) for each in either)


def weak(sources: Iterable[str]) -> list[str]:
    """Return the names of tests that check nothing, and assertions that are always true."""
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    functions = [read(node) for node in nodes if isinstance(node, ast.FunctionDef)]
    known = set(CHECKS)
    while more := {each.name for each in functions if each.fails or each.calls & known} - known:
        known |= more
    return [each.name for each in functions if each.name.startswith("test_") and each.name not in known] + [
        ast.unparse(node) for node in nodes if isinstance(node, ast.Assert) and is_always_true(node)
    ]


def test_every_test_can_fail() -> None:
    assert weak(path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py"))) == []


def test_a_test_that_can_not_fail_is_found() -> None:
    sources = [
        "def test_prints(): print(work())\ndef test_asserts(): assert work()\ndef test_calls(): run(1)",
        "def run(x): same(x, 1)\ndef same(x, y): assert x == y",
        "def test_of_a_child(): subprocess.run([1], check=True)\ndef test_of_none(): subprocess.run([1])",
        "def test_raises():\n    with pytest.raises(ValueError): work()",
        "assert x == 1 or True\nassert (x == 1, 'not one')\nassert x == 1 or y",
    ]
    assert weak(sources) == ["test_prints", "test_of_none", "assert x == 1 or True", "assert (x == 1, 'not one')"]
