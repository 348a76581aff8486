"""A text in spoken form, and which of its parts correspond to which parts of the written form."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Edit", "Rewritten"]


@dataclass(frozen=True)
class Edit:
    """text[start:end] is the spoken form of written[written_start:written_end]."""

    start: int
    end: int
    written_start: int
    written_end: int


@dataclass(frozen=True)
class Rewritten:
    """text: the spoken form.  written: the written form.  edits: their differences, in order and disjoint."""

    text: str
    written: str
    edits: Sequence[Edit] = ()

    @cached_property
    def _starts(self) -> list[int]:
        return [edit.start for edit in self.edits]

    def written_between(self, start: int, end: int) -> str:
        """Return the written form of text[start:end]. A replacement belongs to the part in which it begins."""
        return self.written[self._place(start) : self._place(end)]

    def _place(self, place: int) -> int:
        index = bisect_right(self._starts, place) - 1
        if index < 0:
            return place
        edit = self.edits[index]
        if place <= edit.start:
            return edit.written_start
        return edit.written_end + max(0, place - edit.end)

    def written_parts(self, parts: Sequence[str], start: int = 0) -> list[str | None]:
        """Return the written form of each of `parts`, in order from `start` on; None for one not in the text."""
        found: list[str | None] = []
        for part in parts:
            if (begin := self.text.find(part, start)) < 0:
                found.append(None)
                continue
            start = begin + len(part)
            found.append(self.written_between(begin, start).strip())
        return found
