"""How texts and lines end: punctuation that is there already, and punctuation that is added where there is none.

An audible line end without punctuation is a private character until the text is spoken; subtitles show the text without
it. `read_text` removes private characters from its input.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from voxcli.text.scripts import CJK

__all__ = [
    "CLOSERS",
    "MARKS",
    "PRIVATE",
    "SCENE",
    "SENTENCE_END",
    "VERSE_END",
    "continued",
    "ends_in_mark",
    "finish",
    "punctuate_line_ends",
    "written",
    "written_lines",
]

VERSE_END, SENTENCE_END, SCENE = "\ue001", "\ue002", "\ue003"
PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")

MARKS = frozenset(
    ".!?,;:-\u2026\u2014\u3002\uff01\uff1f\uff0c\uff1b\uff1a\u3001\uff0e\uff61\u0964\u0965\u06d4\u061f\u060c\u061b\u104a\u104b\u17d4\u17d5\u0589"
)
CLOSERS = "\"')]}\u2019\u201d\u00bb\u203a\u300b\u300d\u300f\u3011\uff09\uff3d\uff5d"
_FULL_STOPS = {
    "CJK": "\u3002",
    "HIRAGANA": "\u3002",
    "KATAKANA": "\u3002",
    "DEVANAGARI": "\u0964",
    "MYANMAR": "\u104b",
    "KHMER": "\u17d4",
}
_COMMAS = {"CJK": "\uff0c", "HIRAGANA": "\u3001", "KATAKANA": "\u3001", "MYANMAR": "\u104a", "ARABIC": "\u060c"}
_END = re.compile(rf"[{VERSE_END}{SENTENCE_END}][{VERSE_END}{SENTENCE_END} \t]*")
_IS_CJK = re.compile(f"[{CJK}]")
_NEAR = 16  # characters inspected around a line end


def ends_in_mark(text: str) -> bool:
    """Return whether `text` ends in punctuation, perhaps inside quotes or brackets. True for an empty text."""
    core = text.rstrip(CLOSERS + " ")
    return not core or core[-1] in MARKS


def finish(text: str) -> str:
    """Return `text` ending in punctuation: the full stop of its script is added if there is none.

    For synthesis only: models run on after a text without an end. A comma or dash counts as punctuation.
    """
    return _ended(text, _FULL_STOPS, ".")


def continued(text: str) -> str:
    """Return `text` ending in punctuation, for a sentence that continues: a comma is added if there is none."""
    return _ended(text, _COMMAS, ",")


def _ended(text: str, marks: Mapping[str, str], usual: str) -> str:
    text = text.rstrip()
    if ends_in_mark(text):
        return text
    last_letter = next((char for char in reversed(text.rstrip(CLOSERS + " ")) if char.isalpha()), "")
    script = unicodedata.name(last_letter, "").split(" ")[0] if last_letter else ""
    return text + marks.get(script, usual)


def punctuate_line_ends(text: str) -> str:
    """Return `text` as it is spoken: audible line ends become punctuation, unless there is some already."""
    return _END.sub(_mark, text) if VERSE_END in text or SENTENCE_END in text else text


def written(text: str) -> str:
    """Return `text` as it was written, on one line."""
    return " ".join(PRIVATE.sub(" ", text).split())


def written_lines(text: str) -> str:
    """Return `text` as it was written, with its audible line ends as newlines."""
    return "\n".join(filter(None, map(written, _END.split(text))))


def _mark(end: re.Match[str]) -> str:
    """Return the punctuation that replaces the marker of a line end."""
    text, start, stop = end.string, end.start(), end.end()
    if stop >= len(text) or text[stop] == "\n":
        return ""  # the end of a segment or paragraph has its own punctuation
    before = text[max(0, start - _NEAR) : start]
    if ends_in_mark(before):
        return " "
    cjk = bool(before) and _IS_CJK.match(before[-1]) is not None
    if SENTENCE_END not in end[0]:
        return "\uff0c" if cjk else ", "
    if cjk:
        return "\uff1b"
    return "; " if text[stop : stop + _NEAR].lstrip()[:1].islower() else ". "
