"""Make names and messages safe for a terminal: one line, without control characters."""

from __future__ import annotations

import errno
import os
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from voxcli.errors import OutputError

# Control characters, line separators, surrogates, and characters that change the writing direction.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile(r"[\r\n]")


def printable(name: str | Path) -> str:
    r"""Escape invisible characters of a name, for example a newline as \n."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(name))


def one_line(message: str) -> str:
    """Make a message one line: line breaks become spaces, other invisible characters are escaped."""
    return printable(" ".join(filter(None, map(str.strip, _BREAK.split(message)))))


def stream_failed(error: OSError, after: str = "", name: str = "stdout") -> OutputError:
    """Return the error to raise when a stream can't be written.

    after: progress, such as " after 2.4 s of audio".
    name:  of the stream.
    """
    # Windows has no separate error for a closed pipe
    if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
        return OutputError(f"{name} was closed{after}")
    return OutputError(f"{name} can't be written{after} ({error.strerror or error})")


def format_duration(seconds: float) -> str:
    """Format a duration: 2.4 s, 3 min 20 s, 1 h 02 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def wrapped(line: str, columns: int) -> list[str]:
    """Break a line at spaces, with indented continuations. Longer words, such as paths, stay whole."""
    return textwrap.wrap(line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [
        line
    ]


def clock(seconds: float) -> str:
    """Format a duration as clocks do: 0:11, 12:05, 1:02:03."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Format a count: 1 line, 2 lines. plural: for nouns with an irregular plural."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that was probably meant: one with few typos, or the only one with the same start.

    One typo per four characters is allowed, and at least one. Anything further away would be a wild guess.
    """
    known = list(known)
    limit = max(1, len(name.strip("-")) // 4)
    near = [other for other in known if abs(len(name) - len(other)) <= limit]
    slips = {other: _distance(name.lower(), other.lower()) for other in near}
    if slips and min(slips.values()) <= limit:
        return min(slips, key=lambda other: slips[other])
    alike = [other for other in known if name.startswith(other) or other.startswith(name)]
    return alike[0] if len(alike) == 1 and min(len(name.strip("-")), len(alike[0].strip("-"))) >= 3 else None


def _distance(first: str, second: str) -> int:
    """Return the optimal string alignment distance: insertions, deletions, substitutions and transpositions."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        two_before, before, row = before, row, [i]
        for j, right in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and first[i - 2] == right:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
    return row[-1]
