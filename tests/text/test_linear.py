"""No regular expression of the package takes quadratic time. The tests count steps, not time."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.text.backtracking import Matcher, attacks

PACKAGE = Path(__file__).parent.parent.parent / "voxcli"
BY_LANGUAGE = "voxcli.text.foreign"  # builds its expressions from data
SMALL, TIMES = 20, 4
MAX_GROWTH = 1.5 * TIMES  # of the steps for a text TIMES as large: TIMES is linear, its square quadratic


class Expression(NamedTuple):
    """anchored: it is only matched at the start of a text, never searched for."""

    pattern: re.Pattern[str]
    anchored: bool


def _sources() -> dict[str, str]:
    """Return the source of each module that uses expressions, by its name."""
    sources = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "recipe" not in path.parts and "import re\n" in source:
            sources[".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)] = source
    return sources


SOURCES = _sources()


@cache
def expressions(module: str) -> dict[str, Expression]:
    """Return all expressions of a module by name: its constants, and those written where they are used."""
    found = {}
    tree = ast.parse(SOURCES[module])
    for key, value in vars(importlib.import_module(module)).items():
        if isinstance(value, re.Pattern):
            if isinstance(value.pattern, bytes):
                value = re.compile(value.pattern.decode("latin-1"), value.flags | re.ASCII)
            found[f"{module}:{key}"] = Expression(value, _methods(tree, key) <= {"match", "fullmatch"})
    if module == BY_LANGUAGE:
        for language in ("de", "fr", "ru"):  # together they have all kinds of rules
            rules = enumerate(importlib.import_module(BY_LANGUAGE).rules(language))
            found |= {f"{module}:{language}:{number}": Expression(rule[0], False) for number, rule in rules}
        return found
    for call, method in _calls(tree):
        assert isinstance(call.args[0], ast.Constant), f"{module}, line {call.lineno}: make it a constant of the module"
        found[f"{module}:{call.lineno}"] = Expression(re.compile(call.args[0].value), method == "fullmatch")
    return found


@cache
def matchers() -> dict[str, tuple[re.Pattern[str], Matcher]]:
    found = {name: pattern for module in SOURCES for name, (pattern, _) in expressions(module).items()}
    return {name: (pattern, Matcher(pattern)) for name, pattern in found.items()}


def _methods(tree: ast.Module, name: str) -> set[str]:
    """Return the methods of an expression that its module uses."""
    owners = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    return {node.attr for node in owners if isinstance(node.value, ast.Name) and node.value.id == name}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of `re` inside functions, with the names of the functions of `re`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for call in {node for function in functions for node in ast.walk(function) if isinstance(node, ast.Call)}:
        method = call.func
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id == "re":
            yield call, method.attr


def growth(pattern: re.Pattern[str], anchored: bool = False) -> tuple[float, str]:
    """Return the maximum growth of its steps from SMALL characters to TIMES as many, and the small text."""
    matcher = Matcher(pattern)
    pairs = zip(attacks(matcher, SMALL), attacks(matcher, SMALL, TIMES), strict=True)
    return max(
        (
            (matcher.count(large, anchored=anchored) / matcher.count(small, anchored=anchored), small)
            for small, large in pairs
        ),
        default=(1.0, ""),
    )


@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=pytest.mark.slow) if name == BY_LANGUAGE else name for name in SOURCES]
)
def test_every_expression_is_linear(module: str) -> None:
    worst = {name: growth(*expression) for name, expression in expressions(module).items()}
    assert {name: text for name, (factor, text) in worst.items() if factor > MAX_GROWTH} == {}


def test_the_expressions_are_found() -> None:
    assert len(SOURCES) > 40
    assert len(matchers()) > 300


@pytest.mark.parametrize(
    "pattern",
    [
        r"[ ]*[\u2013\u2014]+[ ]*",
        "\u2026+(?=[\u4e00-\u9fff])",
        "[.!?]+[\"']*(?=\\s|$)",
        r"\s*[\r\n]\s*",
        r"\s*\n\s*\n\s*",
        r"^[ \t]*(?:```|~~~)[ \t]*[\w+-]*[ \t]*$",
        r"\|?[ \t]*:?-{3,}:?[ \t|:-]*$",
        r"[\w.+-]+@[\w-]+",
        r"([$])(\d+)(?:\.(\d\d))?(?![\d.]*\d|[kKmMbB]\b)",
        r"<!--.*?-->",
    ],
)
def test_a_quadratic_expression_is_found(pattern: str) -> None:
    factor, text = growth(re.compile(pattern, re.MULTILINE))
    assert factor > MAX_GROWTH, text


@settings(max_examples=25, deadline=None)
@given(text=st.text("ab1 .-*_|`~<>()[]{}\n\t\"'@$:/,!=#\u2014\u2026\u597d", max_size=30))
def test_the_counter_matches_like_the_engine(text: str) -> None:
    for name, (pattern, matcher) in matchers().items():
        assert matcher.spans(text) == [match.span() for match in pattern.finditer(text)], name
