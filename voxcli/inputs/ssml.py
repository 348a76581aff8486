"""SSML documents: a row for each `<speak>` element, whose tags are read with its text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voxcli.errors import Problem
from voxcli.inputs.rows import InputRow, Remarks

_PROLOG = r"(?:\s|<\?[^<>]{0,500}\?>|<!DOCTYPE[^<>]{0,500}>|<!--(?:[^-]|-(?!->))*-->)*"
_START = re.compile(rf"{_PROLOG}<speak\b", re.IGNORECASE)
_DOCUMENT = re.compile(r"<speak\b[^<>]{0,2000}>(?:[^<]|<(?!/?speak\b))*</speak\s*>", re.IGNORECASE)
_OUTSIDE = re.compile(_PROLOG)


def is_ssml(text: str) -> bool:
    """Whether a text consists only of `<speak>` elements."""
    return bool(_START.match(text)) and not _OUTSIDE.sub("", _DOCUMENT.sub("", text))


def read_ssml(text: str, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Yield a row for each `<speak>` element. Line ends are plain white space in XML."""
    if not is_ssml(text):
        yield Problem(1, "not SSML: it must consist of <speak> elements, each with its closing tag")
        return
    for found in _DOCUMENT.finditer(text):
        words = " ".join("".join(_outside_comments(found[0])).split())
        yield InputRow(text.count("\n", 0, found.start()) + 1, {"text": words})


def _outside_comments(text: str) -> Iterator[str]:
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start)) >= 0:
        yield text[place:start]
        place = end + len("-->")
    yield text[place:]
