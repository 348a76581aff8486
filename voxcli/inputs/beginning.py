"""The beginning of a text, by which its kind is recognized."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_BEGINNING = 4096  # characters


@dataclass(frozen=True)
class Beginning:
    """start: the text from its first character that is no white space.  lines: its complete lines that are not blank,
    without white space at their ends.

    whole: nothing follows.
    """

    start: str
    lines: tuple[str, ...]
    whole: bool

    @classmethod
    def of(cls, text: str) -> Beginning:
        start = text[:MAX_BEGINNING].lstrip()
        whole = len(text) <= MAX_BEGINNING
        complete = start if whole or "\n" not in start else start[: start.rindex("\n")]
        return cls(start, tuple(line.rstrip() for line in complete.split("\n") if line.strip()), whole)

    def count(self, pattern: re.Pattern[str]) -> int:
        """Return the number of lines that `pattern` matches at their start."""
        return sum(1 for line in self.lines if pattern.match(line))

    def has(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.match(line) for line in self.lines)

    def mostly(self, pattern: re.Pattern[str]) -> bool:
        """Whether two lines or more, and half of all, match at their start."""
        count = self.count(pattern)
        return count > 1 and 2 * count >= len(self.lines)

    def all(self, pattern: re.Pattern[str]) -> bool:
        """Whether all lines match completely, two or more."""
        return len(self.lines) > 1 and all(pattern.fullmatch(line) for line in self.lines)
