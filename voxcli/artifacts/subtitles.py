"""Write cues as subtitles: SubRip (.srt), WebVTT (.vtt), or by word (`voxcli.artifacts.karaoke`).

A longer cue becomes several subtitles, which share its time in proportion to their expected length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Literal, cast, get_args

from voxcli.artifacts.karaoke import ass, vtt_by_word
from voxcli.artifacts.screens import clock, escaped, screens
from voxcli.errors import InputError, quoted
from voxcli.files.write import write_atomic
from voxcli.jobs.plan import expected_seconds
from voxcli.jobs.result import Cue, Result

Subtitles = Literal["srt", "vtt", "words", "karaoke"]
KINDS: tuple[str, ...] = get_args(Subtitles)
BY_WORD = ("words", "karaoke")  # these need the times of words, which the check hears
SUFFIXES: Mapping[Subtitles, str] = {"srt": ".srt", "vtt": ".vtt", "words": ".vtt", "karaoke": ".ass"}

_TAG = re.compile(r"<(?=[A-Za-z/!])|\{(?=\\)|--(?=>)")
_WORD_JOINER = "\u2060"


def subtitles_named(name: str | None) -> Subtitles | None:
    """Return the subtitle format of a name. Raises InputError if it is unknown."""
    if name is None or name in KINDS:
        return cast("Subtitles | None", name)
    raise InputError(f"subtitles are srt, vtt, words or karaoke, not {quoted(name)}")


def check_subtitles(kind: Subtitles | None, *, checked: bool) -> None:
    """Raise InputError for subtitles by word without a check."""
    if kind in BY_WORD and not checked:
        raise InputError(f"--subtitles {kind} needs --check, which hears when each word is spoken")


def write_subtitles(path: Path, cues: Iterable[Cue], kind: Subtitles, words: Sequence[Cue] = ()) -> None:
    """Write the file whole or not at all. words: of the cues' texts, for kinds by word. Raises OutputError."""
    write_atomic(path, _encoded(cues, kind, words))


def subtitles_of(result: Result, kind: Subtitles) -> bytes:
    """Return the content of the subtitles of a result's file."""
    return _encoded(result.cues or (), kind, result.words or ())


def _encoded(cues: Iterable[Cue], kind: Subtitles, words: Sequence[Cue]) -> bytes:
    formats: dict[str, Callable[[Iterable[Cue]], str]]
    formats = {"srt": srt, "vtt": vtt, "words": partial(vtt_by_word, words=words), "karaoke": partial(ass, words=words)}
    return formats[kind](cues).encode("utf-8", "replace")


def subtitles_path(audio: Path, kind: Subtitles) -> Path:
    """Return the path of the subtitles of an audio file: next to it, where players look for them."""
    return audio.with_suffix(SUFFIXES[kind])


def srt(cues: Iterable[Cue]) -> str:
    """Format cues as SubRip, which has no escapes: text that looks like a tag gets an invisible word joiner."""
    blocks = [
        f"{number}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n"
        f"{_TAG.sub(lambda tag: tag[0] + _WORD_JOINER, cue.text)}\n"
        for number, cue in enumerate(_shown(cues), 1)
    ]
    return "\n".join(blocks)


def vtt(cues: Iterable[Cue]) -> str:
    blocks = [f"{clock(cue.start, '.')} --> {clock(cue.end, '.')}\n{escaped(cue.text)}\n" for cue in _shown(cues)]
    return "\n".join(["WEBVTT\n", *blocks])


def _shown(cues: Iterable[Cue]) -> Iterator[Cue]:
    """Split cues into parts that fit the screen, with line breaks."""
    for cue in cues:
        parts = list(screens(cue.text))
        weights = list(accumulate(expected_seconds(part) for part in parts))
        start = cue.start
        for weight, part in zip(weights, parts, strict=True):
            end = cue.start + (cue.end - cue.start) * weight / weights[-1]
            yield Cue(start, end, part)
            start = end
