"""Names and messages as a terminal may have them: one line, with no character that does more than be seen."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from voxcli.errors import OutputError

# Controls, line separators, halves of surrogate pairs, and what turns the direction of writing.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile(r"[\r\n]")


def shown(name: str | Path) -> str:
    r"""A name with its unseen characters escaped: a newline as \n."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(name))


def one_line(message: str) -> str:
    """A message: its line breaks become spaces, other unseen characters are escaped."""
    return shown(" ".join(filter(None, map(str.strip, _BREAK.split(message)))))


def stdout_failed(error: OSError, after: str = "") -> OutputError:
    """What to raise when stdout can't be written; `after` says how far that came, as in " after 2.4 s of audio"."""
    # Windows has no error of its own for a pipe that nobody reads
    if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
        return OutputError(f"stdout was closed{after}")
    return OutputError(f"stdout can't be written{after} ({error.strerror or error})")


def clock(seconds: float) -> str:
    """2.4 s, 3 min 20 s, 1 h 02 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def counted(count: int, noun: str) -> str:
    """1 line, 2 lines."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
