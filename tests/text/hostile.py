"""Hostile texts by name, each of about `n` characters. If these are slow, so is somebody's file."""

from __future__ import annotations

from collections.abc import Callable

HOSTILE: dict[str, Callable[[int], str]] = {
    "ellipses": lambda n: "Hi" + "\u2026" * n + "x",
    "dots": lambda n: "a" + "." * n + "b c",
    "exclamation marks": lambda n: "a" + "!" * n + "b c",
    "dots and quotes": lambda n: "a" + '."' * (n // 2) + "b c",
    "spaces after a newline": lambda n: "a\n" + " " * n + "b",
    "spaces before a dash": lambda n: "a" + " " * n + "b \u2014 c",
    "hyphens": lambda n: "-" * n + "x",
    "spaces after a fence": lambda n: "```" + " " * n + "!",
    "spaces in a table": lambda n: "| a" + " " * n + "b |",
    "borders of a table": lambda n: "|" * n + "x",
    "comments": lambda n: "<!---->" * (n // 7) + "x",
    "comments that never end": lambda n: "<!--" * (n // 4) + "x",
    "tags that never end": lambda n: "<a " + "b=c " * (n // 4),
    "brackets in brackets": lambda n: "(" + "[" * (n // 2) + "warm" + "]" * (n // 2) + ")Hi",
    "brackets that never close": lambda n: "([{" * (n // 3),
    "a long description": lambda n: "(" + "warm " * (n // 10) + ")" + "Hello there. " * (n // 26),
    "one word": lambda n: "a" * n,
    "one number": lambda n: "1" * n,
    "one address": lambda n: "www." + "a." * (n // 2),
    "half an address": lambda n: "a.b" * (n // 3) + "@",
    "accents": lambda n: "e" + "\u0301" * n,
    "joiners": lambda n: "\u0645" + "\u200c" * n + "x",
    "abbreviations": lambda n: "no. " * (n // 4),
    "list numbers": lambda n: "1. " * (n // 3),
    "note marks": lambda n: "[1]" * (n // 3),
    "words": lambda n: "a " * (n // 2),
    "sentences": lambda n: "The wind came over the hill. " * (n // 29),
    "lines": lambda n: "The wind came\nover the hill.\n" * (n // 29),
    "paragraphs": lambda n: "Hi.\n\n" * (n // 5),
    "Chinese": lambda n: "\u5929\u6c14\u771f\u597d\u3002" * (n // 5),
}

# To be repeated: an expression may start a new search at each of them.
UNITS = [
    "a",
    "a ",
    ".",
    " .",
    "\u597d",
    "\u4e00\n",
    "\u2014 ",
    "\u200d",
    "\u0301",
    "\n",
    "1. ",
    "www.",
    "a@",
    "-",
    "- ",
    "#",
    "[",
    "](a/b)",
    "[a](b/c)",
    "{",
    "(",
    "()",
    "<b>",
    "<a b=",
    "<!--",
    "<!---->",
    "*a",
    "**a ",
    "_a",
    "~~a ",
    "`",
    '"',
    "|",
]


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda n: unit * (n // len(unit))


HOSTILE |= {f"{unit!r} repeated": _repeated(unit) for unit in UNITS}
