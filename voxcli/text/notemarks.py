"""Remove note marks, which nobody reads aloud: "three hundred years.[1] In the flood"."""

from __future__ import annotations

import re

__all__ = ["drop_note_marks"]

_NUMBERS = r"[1-9]\d{0,2}(?: ?[,;\u2013-] ?\d{1,3}){0,20}"
_WORDS = (
    r"\^[\w-]{1,30}|(?:note|nb|n\.?) ?\d{1,3}|[a-d](?=\](?![^\W_]))|\*{1,3}"
    r"|(?:citation|clarification|better source) needed|who\?|when\?|where\?|by whom\?"
)
_LINK = r"(?:\(#[^()\s]{0,100}\))?"  # as in Markdown
_ONE = rf"\[(?:{_NUMBERS}|{_WORDS})\]{_LINK}"
# After a word or punctuation, not after a space or a single letter: x[1] is an element, and [laughing] is a tag.
_MARK = re.compile(
    rf"(?:(?<=[^\W\d_]{{2}})|(?<=[\d.!?,;:\"'\u00bb\u2019\u201d)\u2026\u3002\uff01\uff1f\uff0c]))(?:{_ONE})+(?! ?=)",
    re.IGNORECASE,
)
# Before the punctuation that ends a sentence, and where an editor asks for a source.
_BEFORE_END = re.compile(rf" (?:{_ONE} ?)+(?=[.!?,;:\u3002]|$)", re.IGNORECASE | re.MULTILINE)
_ASKED = re.compile(r" ?\[(?:citation|clarification|better source) needed\]", re.IGNORECASE)
_AT_START = re.compile(rf"^\[{_NUMBERS}\][ \t]+(?=\S)", re.MULTILINE)
_RAISED = re.compile(
    "(?<=[.!?,;:\"'\u00bb\u2019\u201d)\u2026])[\u00b9\u00b2\u00b3\u2070\u2074-\u2079\u2020\u2021]{1,3}(?![\\w/])"
    "|(?<=([^\\W\\d_]{3}))[\u00b9\u00b2\u00b3\u2070\u2074-\u2079\u2020\u2021]{1,3}(?![\\w/])"
)
_SIGN = re.compile("[\\[\u00b9\u00b2\u00b3\u2070\u2074-\u2079\u2020\u2021]")
_POWERS = frozenset(["sin", "cos", "tan", "cot", "sec", "log", "exp", "mol", "max", "min"])


def drop_note_marks(text: str) -> tuple[str, int]:
    """Return `text` without note marks, and their number. A sentence that ends before a mark still ends there.

    >>> drop_note_marks("It stood for years.[1] In the flood[2][3] it fell.")
    ('It stood for years. In the flood it fell.', 3)
    """
    count = 0

    def drop(mark: re.Match[str]) -> str:
        nonlocal count
        if mark.re is _RAISED and (mark[1] or "").casefold() in _POWERS:
            return mark[0]
        count += max(1, mark[0].count("["))
        if mark.re is _AT_START:
            return ""
        following = mark.string[mark.end() : mark.end() + 1]
        return " " if following.isalnum() else ""

    if _SIGN.search(text) is None:
        return text, 0
    for marks in (_AT_START, _ASKED, _MARK, _BEFORE_END, _RAISED):
        text = marks.sub(drop, text)
    return text, count
