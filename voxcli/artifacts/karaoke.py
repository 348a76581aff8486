"""Subtitles by word: WebVTT with the time of each word, and Advanced SubStation (.ass) with karaoke tags.

Players highlight each word while it is heard. The words and their times are those that the check has heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from voxcli.artifacts.screens import clock, escaped, screens
from voxcli.jobs.result import Cue

__all__ = ["ass", "vtt_by_word"]

# The resolution is that of the positions and sizes in the style, not of the picture.
ASS_HEAD = """\
[Script Info]
ScriptType: v4.00+
WrapStyle: 2
PlayResX: 1920
PlayResY: 1080

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Alignment, MarginV
Style: Default,Arial,64,&H0000FFFF,&H00FFFFFF,&H00000000,&H80000000,0,2,60

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


class _Part(NamedTuple):
    """A word on a screen, with the text after it up to the next word. start: None for text before the first word."""

    start: float | None
    word: str
    rest: str


@dataclass(frozen=True)
class _Screen:
    start: float
    end: float
    parts: tuple[_Part, ...]


def vtt_by_word(cues: Iterable[Cue], words: Sequence[Cue]) -> str:
    """Format cues as WebVTT. words: of their texts, in order; the ones of a cue that has none are shown at once."""
    blocks = []
    for screen in _with_words(cues, words):
        text = "".join(
            f"{_vtt_time(part.start, screen.start)}{_vtt_word(part)}{escaped(part.rest)}" for part in screen.parts
        )
        blocks.append(f"{clock(screen.start, '.')} --> {clock(screen.end, '.')}\n{text}\n")
    return "\n".join(["WEBVTT\n", *blocks])


def _vtt_time(start: float | None, begin: float) -> str:
    """Return the tag of a time, which must lie after the beginning of its cue."""
    return "" if start is None or round(1000 * start) <= round(1000 * begin) else f"<{clock(start, '.')}>"


def _vtt_word(part: _Part) -> str:
    return f"<c>{escaped(part.word)}</c>" if part.word else ""


def ass(cues: Iterable[Cue], words: Sequence[Cue]) -> str:
    """Format cues as Advanced SubStation, with a tag `\\k`, in hundredths of a second, before each word."""
    return ASS_HEAD + "".join(
        f"Dialogue: 0,{_ass_clock(screen.start)},{_ass_clock(screen.end)},Default,,0,0,0,,{_ass_text(screen)}\n"
        for screen in _with_words(cues, words)
    )


def _ass_text(screen: _Screen) -> str:
    timed = [part for part in screen.parts if part.start is not None]
    ends = [*(part.start for part in timed[1:]), screen.end][: len(timed)]
    text = "".join(_ass_words(part.rest) for part in screen.parts if part.start is None)
    now = round(100 * screen.start)
    if timed and timed[0].start is not None and (wait := round(100 * timed[0].start) - now) > 0:
        text += f"{{\\k{wait}}}"
        now += wait
    for part, end in zip(timed, ends, strict=True):
        assert end is not None, "the parts that are left have times"
        until = max(now, round(100 * end))
        text += f"{{\\k{until - now}}}{_ass_words(part.word + part.rest)}"
        now = until
    return text


def _ass_words(text: str) -> str:
    """Return a text without what would be a tag: braces, and backslashes, which have no escape."""
    return text.translate({ord("{"): "(", ord("}"): ")", ord("\\"): "/", ord("\n"): "\\N"})


def _ass_clock(seconds: float) -> str:
    whole, hundredths = divmod(round(100 * seconds), 100)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}.{hundredths:02d}"


def _with_words(cues: Iterable[Cue], words: Sequence[Cue]) -> Iterator[_Screen]:
    """Yield the screens of cues with their words. A screen lasts from its first word to the first of the next one."""
    number = 0
    for cue in cues:
        texts = list(screens(cue.text))
        parts: list[tuple[_Part, ...]] = []
        for text in texts:
            count, found = _parts(text, words[number:])
            number += count
            parts.append(found)
        starts = [next((part.start for part in each if part.start is not None), None) for each in parts]
        start = cue.start
        for place, each in enumerate(parts):
            following = starts[place + 1] if place + 1 < len(parts) else None
            share = (cue.end - start) / (len(parts) - place)
            end = cue.end if place + 1 == len(parts) else start + share if following is None else max(start, following)
            yield _Screen(start, end, each)
            start = end


def _parts(text: str, words: Sequence[Cue]) -> tuple[int, tuple[_Part, ...]]:
    """Return how many of `words` a screen shows, and its parts."""
    places: list[int] = []
    cursor = 0
    for word in words:
        place = text.find(word.text, cursor)
        if place < 0 or any(map(str.isalnum, text[cursor:place])):
            break
        places.append(place)
        cursor = place + len(word.text)
    ends = [*places[1:], len(text)]
    parts = [_Part(None, "", text[: places[0] if places else len(text)])]
    for place, end, word in zip(places, ends, words, strict=False):
        parts.append(_Part(word.start, word.text, text[place + len(word.text) : end]))
    return len(places), tuple(part for part in parts if part.word or part.rest)
