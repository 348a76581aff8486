"""Split a text into words, punctuation and white space, in linear time.

Word boundaries follow Unicode Standard Annex 29 as far as names and terms need it: letters, digits and their accents
are one word, and so are "don't", "e.g" and "3.5". In contrast to it, an English "'s" and a French or Italian "l'" are
separate tokens, as "Anna's" is a form of "Anna". In scripts without spaces each letter is a token, except in katakana.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from voxcli.text.scripts import UNSPACED

__all__ = ["Token", "tokens"]

_RUN = re.compile(r"\s+|\w+|[^\w\s]")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SPACED_OR_ONE = re.compile(f"[^{UNSPACED}]+|[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]+|[{UNSPACED}]")
_JOINERS = "\u200c\u200d"
_APOSTROPHES = "'\u2019"
_ELIDED = frozenset((*"cdjlmnst", "qu", "jusqu", "lorsqu", "puisqu", "un", "dell", "nell", "all", "sull", "dall", "gl"))


class Token(NamedTuple):
    start: int
    end: int
    text: str


def tokens(text: str) -> list[Token]:
    """Return the tokens of `text` in order; together they are the whole text.

    >>> [token.text for token in tokens("Anna's don't, 3.5")]
    ['Anna', "'s", ' ', "don't", ',', ' ', '3.5']
    """
    starts: list[int] = []
    ends: list[int] = []
    glued = False  # whether the next run continues the last token
    word = False  # whether the last token is a word in a script with spaces

    for match in _RUN.finditer(text):
        start, end = match.span()
        run = match[0]
        if run[0].isspace():
            starts.append(start)
            ends.append(end)
            glued = word = False
        elif run[0].isalnum() or run[0] == "_":
            spaced = run.isascii() or not _UNSPACED.search(run)
            for part in (
                [(start, end)] if spaced else [each.span() for each in _SPACED_OR_ONE.finditer(text, start, end)]
            ):
                alone = not spaced and bool(_UNSPACED.match(text, part[0]))
                if glued and not alone:
                    ends[-1] = part[1]
                else:
                    starts.append(part[0])
                    ends.append(part[1])
                glued, word = False, not alone
        elif starts and (run in _JOINERS or unicodedata.category(run)[0] == "M") and not text[start - 1].isspace():
            ends[-1] = end
            glued = word
        elif word and _joins(text, start):
            if run in _APOSTROPHES and text[start + 1] in "sS" and not _continues(text, start + 2):
                starts.append(start)
                ends.append(end)
                glued = True
            elif run in _APOSTROPHES and start - starts[-1] <= 7 and text[starts[-1] : start].lower() in _ELIDED:
                ends[-1] = end
                glued = word = False
            else:
                ends[-1] = end
                glued = True
        else:
            starts.append(start)
            ends.append(end)
            glued = word = False
    return [Token(start, end, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def _joins(text: str, place: int) -> bool:
    """Return whether the punctuation at `place`, after a word, is inside the word."""
    before, mark, after = text[place - 1], text[place], text[place + 1 : place + 2]
    if not after or _UNSPACED.match(after):
        return False
    if mark in ".,":
        return (before.isdigit() and after.isdigit()) or (mark == "." and before.isalpha() and after.isalpha())
    return mark in "'\u2019\u00b7" and not before.isdigit() and after.isalpha()


def _continues(text: str, place: int) -> bool:
    after = text[place : place + 1]
    return bool(after) and (after.isalnum() or after == "_" or unicodedata.category(after)[0] == "M")
