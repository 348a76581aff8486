"""Join words that were broken at a line end: "exam-\\nple" is "example", "well-\\nknown" stays "well-known".

This needs no dictionary. The hyphen stays if the same two parts occur with a hyphen elsewhere in the text, or if the
first part often forms compounds and the second is more than an ending. Otherwise it is removed.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise

__all__ = ["Hyphens"]

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PARTS = 64  # characters inspected on each side of a line end


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# First parts of compounds that are rarely the first syllables of another word.
_FIRST_PARTS = _words(
    """
    well self half cross long short high low hard soft old new open ill second third fourth fifth full single double
    twenty thirty forty fifty sixty seventy eighty ninety one two three four five six seven eight nine ten mother
    father sister brother good great much so called north south east west peut rendez demi avant après quelques
    celui celle ceux из кое как кто что где
    """
)
_ENDINGS = _words(
    """
    ed er ers ered ering est ing ings ly ness nesses ment ments tion tions sion sions ous able ible al ally ity
    ities ful fully less ish ism ist ists en ens es s ance ence ant ent ten ty teen self selves
    """
)


class Hyphens:
    """Joins lines of one text, whose compounds it knows."""

    def __init__(self, text: str):
        self._text = text

    @cached_property
    def _compounds(self) -> frozenset[tuple[str, str]]:
        words = (found[0].casefold().split("-") for found in _WORD.finditer(self._text) if "-" in found[0])
        return frozenset(pair for parts in words for pair in pairwise(parts))

    def join(self, line: str, following: str) -> str | None:
        """Return `line` ready for the next line to be appended; None if no word is broken at its end."""
        before, after = _last_word(line[-_PARTS:-1]), _first_word(following[:_PARTS])
        if not line.endswith("-") or not before or not after:
            return None
        return line if self._stays(before, after, line) else line[:-1]

    def _stays(self, before: str, after: str, line: str) -> bool:
        if not after[0].islower() or not before.isalpha():
            return True  # Jean-Paul, 1990-95
        if line[: -len(before) - 1].endswith("-"):
            return True  # mother-in-law
        pair = before.casefold(), after.casefold()
        return pair in self._compounds or (pair[0] in _FIRST_PARTS and pair[1] not in _ENDINGS)


def _last_word(text: str) -> str:
    start = len(text)
    while start and text[start - 1].isalnum():
        start -= 1
    return text[start:]


def _first_word(text: str) -> str:
    end = 0
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[:end]
