"""Find where a text may be cut, and rank the places: ends of sentences, ends of clauses, spaces between words.

The neighbouring words distinguish sentence ends from other dots; see `abbreviations`. When in doubt, a dot is not a
sentence end: a missed end only makes a segment longer, a wrong end is audible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum

from voxcli.text.abbreviations import sentence_continues
from voxcli.text.endings import SENTENCE_END, VERSE_END
from voxcli.text.scripts import UNSPACED

__all__ = ["Strength", "boundaries"]


class Strength(IntEnum):
    """Rank of a cut, from between letters of a script without spaces (1) to the end of a sentence (4)."""

    LETTERS = 1
    SPACE = 2
    CLAUSE = 3
    SENTENCE = 4


_CLOSERS = "[\"')\\]}\u00ab\u00bb\u203a\u2019\u201d\u300b\u300d\u300f\u3011\uff09]*"
# ASCII punctuation ends something only before white space or Chinese; other punctuation ends it anywhere. A run of
# punctuation is matched as a whole before its context is checked: checking at every character takes quadratic time.
_MARKS = re.compile(
    rf"(?P<sentence>[.!?]+{_CLOSERS}(?: [\u00bb\u203a](?=[\s.,;:!?]|$))?|{SENTENCE_END}"
    rf"|[\u3002\uff01\uff1f\uff61\u0964\u0965\u06d4\u061f\u104b\u17d4\u17d5]+{_CLOSERS})"
    rf"|(?P<clause>[,;:]{_CLOSERS}(?=\s|$|[{UNSPACED}])|(?<=\s)-+(?=\s)|{VERSE_END}"
    rf"|[\u2014\u2026\uff0c\uff1b\uff1a\u3001\u060c\u061b\u104a]+{_CLOSERS})"
    r"|(?P<space>\s+)"
)
_SPACED = re.compile(rf"\s|$|[{UNSPACED}]")
# Spaces at which no cut is allowed: inside numbers, and inside French punctuation: '\u00ab Bonjour ! \u00bb'.
_GAP = re.compile(
    r"(?<=\d)\s+(?=[\d%])|(?<=\s[\u00ab\u2039])\s+|(?<=^[\u00ab\u2039])\s+"
    r"|(?<=\S) (?=[!?;:\u00bb\u203a]+(?:[\s.,!?;:]|$))"
)
_DOT = re.compile(r"\.(?=\s)")
_ATOM = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|(?:https?://|www\.)[!-~]+")
_LETTER_PAIR = re.compile(rf"[{UNSPACED}](?=[^\W\d_])|[^\W\d_](?=[{UNSPACED}])")
_KATAKANA = re.compile("[\u30a1-\u30ff]{2}")
# Small kana, length and repeat marks never begin a line; Thai and Lao vowels stay with the letter before or after.
_NO_START = frozenset(
    "\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087\u308e\u30fc\u3005\u309d\u309e\u30fd\u30fe\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
)
_NO_END = frozenset("\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4")


def boundaries(text: str) -> dict[int, Strength]:
    """Return the indexes at which `text` may be cut, each with the strength of that cut."""
    found: dict[int, Strength] = {}
    for place, strength in (*(() if text.isascii() else _letters(text)), *_marks(text)):
        known = found.get(place)
        if known is None or known < strength:
            found[place] = strength
    for place in _kept_together(text):
        found.pop(place, None)
    return dict(sorted(found.items()))


def _marks(text: str) -> Iterator[tuple[int, Strength]]:
    for match in _MARKS.finditer(text):
        place = match.end()
        if match.lastgroup == "space":
            yield match.start(), Strength.SPACE
        elif match.lastgroup == "clause":
            if not _between_digits(text, match):
                yield place, Strength.CLAUSE
        elif match[0][0] in ".!?" and not _SPACED.match(text, place):
            continue
        elif match[0][0] != "." or len(match[0]) > 1:
            # "Stop!" he said: the sentence continues.
            yield place, Strength.CLAUSE if _next_letter(text, place).islower() else Strength.SENTENCE
        elif not sentence_continues(text, match.start()) and not _next_letter(text, place).islower():
            yield place, Strength.SENTENCE


def _letters(text: str) -> Iterator[tuple[int, Strength]]:
    for match in _LETTER_PAIR.finditer(text):
        place = match.end()
        before, after = text[place - 1], text[place]
        if (
            before.isalpha()
            and after not in _NO_START
            and before not in _NO_END
            and not _KATAKANA.fullmatch(before + after)
        ):
            yield place, Strength.LETTERS


def _kept_together(text: str) -> Iterator[int]:
    """Yield where no cut is allowed: inside phonemes, tags, addresses and numbers with spaces, and after "Mr."."""
    for atom in _ATOM.finditer(text):
        yield from range(atom.start() + 1, atom.end())
    for gap in _GAP.finditer(text):
        yield gap.start()
    for match in _DOT.finditer(text):
        if sentence_continues(text, match.start()):
            yield match.end()


def _between_digits(text: str, match: re.Match[str]) -> bool:
    return match.start() > 0 and text[match.start() - 1].isdigit() and text[match.end() : match.end() + 1].isdigit()


def _next_letter(text: str, place: int) -> str:
    """Return the first character after `place`, past white space, quotes and punctuation; empty at the end."""
    rest = text[place : place + 16]
    return next(
        (
            char
            for char in rest
            if not char.isspace() and unicodedata.category(char) not in ("Ps", "Pi", "Pf", "Po", "Pd")
        ),
        "",
    )
