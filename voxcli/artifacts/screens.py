"""Lay out texts for screens: at most two lines of 42 columns, broken at lines, sentences and clauses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from voxcli.text.split import split

__all__ = ["COLUMNS", "LINES", "clock", "escaped", "screens", "width", "wrap"]

COLUMNS = 42  # the usual broadcast limit; Chinese, Japanese and Korean characters take two columns
LINES = 2

# A line may break at white space or next to a wide character, but not before a closing mark.
_WIDE = "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]"
_CLOSING = (
    "[\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\u300d\u300f\u3011\u300b\uff09\u201d\u2019\u30fc)\\]!?.,:;]"
)
_WORD = re.compile(rf"(?:(?<!\s)\s+)?(?:{_WIDE}|(?:(?!{_WIDE})\S)+){_CLOSING}*")


def clock(seconds: float, mark: str) -> str:
    """Return a time as HH:MM:SS, with the milliseconds after `mark`."""
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02d}:{minute:02d}:{second:02d}{mark}{milliseconds:03d}"


def escaped(text: str) -> str:
    """Return a text for WebVTT."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def screens(text: str) -> Iterator[str]:
    """Split a text at lines, sentences and clauses into parts of at most LINES lines. Short lines share a screen."""
    screen: list[str] = []
    for line in text.split("\n"):
        for number, part in enumerate(_parts(" ".join(line.split()))):
            if screen and (number or len(screen) + len(part) > LINES):
                yield "\n".join(screen)
                screen = []
            screen += part
    if screen:
        yield "\n".join(screen)


def _parts(line: str) -> Iterator[list[str]]:
    """Split a line at sentences and clauses into parts of at most LINES lines on the screen."""
    if not line:
        return
    fitting = COLUMNS * LINES * len(line) // max(1, width(line))  # characters, wide ones among them
    for part in split(line, max(1, fitting)):
        lines = wrap(part.text)
        for first in range(0, len(lines), LINES):
            yield lines[first : first + LINES]


def wrap(text: str, columns: int = COLUMNS) -> list[str]:
    """Break `text` into the minimum number of lines, of about equal width."""
    fewest = len(_fill(text, columns))
    least = max(1, -(-width(text) // max(1, fewest)))
    return next(
        (lines for width in range(least, columns) if len(lines := _fill(text, width)) == fewest), _fill(text, columns)
    )


def _fill(text: str, columns: int) -> list[str]:
    """Fill lines with as many words as fit; a word wider than a line is broken."""
    lines = [""]
    for word in _WORD.findall(text):
        joined = lines[-1] + word
        if width(joined.strip()) <= columns:
            lines[-1] = joined
            continue
        lines.append("")
        for char in word.lstrip():
            if width(lines[-1] + char) > columns:
                lines.append("")
            lines[-1] += char
    return [line.strip() for line in lines if line.strip()]


def width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.category(char)[0] != "M" for char in text
    )
