"""Text that nobody wrote to be spoken, known by how its lines look: refused, as it would be spoken mark by mark."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voxcli.inputs.signatures import Refusal

CONVERT = "convert it: `pandoc FILE -t plain --wrap=none -o FILE.txt`"
MAIL = Refusal("an e-mail message", "save its text as .txt")
TIMES = Refusal("a chat or a log, with date and time in its lines", "take them out, or make it a table")
DRAWN = Refusal("a table drawn with characters", "export it as .csv or .tsv")
SETTINGS = Refusal("a settings file", "use JSON Lines or a table")
LATEX = Refusal("a LaTeX document", CONVERT)
MARKUP = Refusal("a document with markup", CONVERT)
TRANSLATIONS = Refusal("a file of translations", "export its texts as .csv")
PROGRAM = Refusal("program code", "save its text as .txt")
STATEMENTS = Refusal("a database script", "export the table as .csv or .jsonl")

_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:[ \t]|$)")
_MAIL_HEADERS = frozenset({"from", "to", "date", "subject", "message-id", "received", "return-path", "content-type"})
_DATE_AND_TIME = re.compile(r"[\[(<]?\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:, ?|[ T])\d{1,2}:\d\d")
_RULE = re.compile(r"(?=.*--)(?=.*[+|])[-+|=: \t]{5,}")
_BY_START = (
    (re.compile(r"#!"), PROGRAM),
    (re.compile(r"(?:---[ \t]*\n\s*)?-[ \t]+(?:text|id):[ \t]"), SETTINGS),
    (re.compile(r"\[[\w. -]{1,60}\][ \t]*\n\s*[\w.-]{1,60}[ \t]*=[ \t]*\S"), SETTINGS),
    (re.compile(r"\\documentclass\b"), LATEX),
    (re.compile(r'(?:#.*\n\s*)*(?:msgctxt|msgid) "'), TRANSLATIONS),
    (re.compile(r"(?:INSERT INTO|CREATE TABLE|SELECT \S.* FROM) "), STATEMENTS),
)


def lookalike(beginning: str) -> Refusal | None:
    """What the beginning of a text shows it to be; None for prose."""
    start = beginning.lstrip()
    for pattern, refusal in _BY_START:
        if pattern.match(start):
            return refusal
    lines = [line for line in start.split("\n") if line.strip()]
    if any(_RULE.fullmatch(line) for line in lines[:4]):
        return DRAWN
    marked = sum(1 for line in lines if _DATE_AND_TIME.match(line))
    if marked > 1 and 2 * marked >= len(lines):
        return TIMES
    names = set(_header_names(start))
    return MAIL if "mime-version" in names or ("from" in names and len(names & _MAIL_HEADERS) > 2) else None


def _header_names(start: str) -> Iterator[str]:
    """The names of the fields before the first blank line, as far as lines are fields."""
    for line in start.split("\n"):
        found = _HEADER.match(line)
        if found:
            yield found[1].lower()
        elif not line[:1].isspace() and not line.startswith("From "):
            return
