"""Write cues as subtitles, SubRip (.srt) or WebVTT (.vtt), of at most two lines of 42 columns.

A longer cue becomes several subtitles, which share its time in proportion to their expected length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Literal, cast, get_args

from voxcli.errors import InputError, quoted
from voxcli.files.write import write_atomic
from voxcli.jobs.plan import expected_seconds
from voxcli.jobs.result import Cue
from voxcli.text.split import split

Subtitles = Literal["srt", "vtt"]
KINDS: tuple[str, ...] = get_args(Subtitles)

COLUMNS = 42  # the usual broadcast limit; Chinese, Japanese and Korean characters take two columns
LINES = 2

# A line may break at white space or next to a wide character, but not before a closing mark.
_WIDE = "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]"
_CLOSING = (
    "[\u3001\u3002\uff0c\uff0e\uff01\uff1f\uff1a\uff1b\u300d\u300f\u3011\u300b\uff09\u201d\u2019\u30fc)\\]!?.,:;]"
)
_WORD = re.compile(rf"(?:(?<!\s)\s+)?(?:{_WIDE}|(?:(?!{_WIDE})\S)+){_CLOSING}*")
_TAG = re.compile(r"<(?=[A-Za-z/!])|\{(?=\\)|--(?=>)")
_WORD_JOINER = "\u2060"


def subtitles_named(name: str | None) -> Subtitles | None:
    """Return the subtitle format of a name. Raises InputError if it is unknown."""
    if name is None or name in KINDS:
        return cast("Subtitles | None", name)
    raise InputError(f"subtitles are srt or vtt, not {quoted(name)}")


def write_subtitles(path: Path, cues: Iterable[Cue], kind: Subtitles) -> None:
    """Write the file whole or not at all. Raises OutputError."""
    write_atomic(path, (srt(cues) if kind == "srt" else vtt(cues)).encode("utf-8", "replace"))


def subtitles_path(audio: Path, kind: Subtitles) -> Path:
    """Return the path of the subtitles of an audio file: next to it, where players look for them."""
    return audio.with_suffix(f".{kind}")


def srt(cues: Iterable[Cue]) -> str:
    """Format cues as SubRip, which has no escapes: text that looks like a tag gets an invisible word joiner."""
    blocks = [
        f"{number}\n{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}\n"
        f"{_TAG.sub(lambda tag: tag[0] + _WORD_JOINER, cue.text)}\n"
        for number, cue in enumerate(_shown(cues), 1)
    ]
    return "\n".join(blocks)


def vtt(cues: Iterable[Cue]) -> str:
    blocks = [
        f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}\n"
        f"{cue.text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}\n"
        for cue in _shown(cues)
    ]
    return "\n".join(["WEBVTT\n", *blocks])


def _clock(seconds: float, mark: str) -> str:
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours:02d}:{minute:02d}:{second:02d}{mark}{milliseconds:03d}"


def _shown(cues: Iterable[Cue]) -> Iterator[Cue]:
    """Split cues into parts that fit the screen, with line breaks."""
    for cue in cues:
        screens = list(_screens(cue.text))
        weights = list(accumulate(expected_seconds(screen) for screen in screens))
        start = cue.start
        for weight, screen in zip(weights, screens, strict=True):
            end = cue.start + (cue.end - cue.start) * weight / weights[-1]
            yield Cue(start, end, screen)
            start = end


def _screens(text: str) -> Iterator[str]:
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
    fitting = COLUMNS * LINES * len(line) // max(1, _width(line))  # characters, wide ones among them
    for part in split(line, max(1, fitting)):
        lines = wrap(part.text)
        for first in range(0, len(lines), LINES):
            yield lines[first : first + LINES]


def wrap(text: str, columns: int = COLUMNS) -> list[str]:
    """Break `text` into the minimum number of lines, of about equal width."""
    fewest = len(_fill(text, columns))
    least = max(1, -(-_width(text) // max(1, fewest)))
    return next(
        (lines for width in range(least, columns) if len(lines := _fill(text, width)) == fewest), _fill(text, columns)
    )


def _fill(text: str, columns: int) -> list[str]:
    """Fill lines with as many words as fit; a word wider than a line is broken."""
    lines = [""]
    for word in _WORD.findall(text):
        joined = lines[-1] + word
        if _width(joined.strip()) <= columns:
            lines[-1] = joined
            continue
        lines.append("")
        for char in word.lstrip():
            if _width(lines[-1] + char) > columns:
                lines.append("")
            lines[-1] += char
    return [line.strip() for line in lines if line.strip()]


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.category(char)[0] != "M" for char in text
    )
