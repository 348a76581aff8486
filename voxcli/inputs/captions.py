"""Subtitles, SubRip (.srt) or WebVTT (.vtt), as lines to speak: one per cue. Its number is the id; tags are dropped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from voxcli.errors import Problem
from voxcli.inputs.rows import InputRow, Remarks

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?")
_TAG = re.compile(r"</?(?:[a-z][^<>\n]{0,200}|\d[\d:.]{0,20})>|\{\\[^{}\n]{0,200}\}", re.IGNORECASE)
_BLOCK = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t].*)?")


class Cue(NamedTuple):
    """line: its first line, from 1.  name: its number or identifier; may be empty."""

    line: int
    name: str
    text: str


def is_timing(line: str) -> bool:
    """Whether the line holds the start and end time of a cue."""
    return _TIMING.fullmatch(line) is not None


def read_cues(text: str, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Yield a row for each cue, without an id if the names are not unique: the lines are then numbered in order."""
    cues: list[Cue] = []
    for cue in _cues(text):
        if isinstance(cue, Problem):
            yield cue
        elif cue.text:
            cues.append(cue)
        else:
            remarks.left_out["empty cue"] += 1
    names = {cue.name.casefold() for cue in cues}
    named = len(names) == len(cues) and "" not in names and all(len(name) <= 200 for name in names)
    for cue in cues:
        fields: dict[str, Any] = {"id": cue.name, "text": cue.text} if named else {"text": cue.text}
        yield InputRow(cue.line, fields)


def _cues(text: str) -> Iterator[Cue | Problem]:
    lines = text.split("\n")
    web = lines[0].startswith("WEBVTT")
    times = [number for number, line in enumerate(lines) if "-->" in line and is_timing(line)]
    wrong = [number for number, line in enumerate(lines) if "-->" in line and not is_timing(line)]
    starts = [number - 1 if number and _is_name(lines, number - 1, web) else number for number in times]
    for place, (start, time) in enumerate(zip(starts, times, strict=True)):
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
        words = _words(lines[time + 1 : end], web)
        yield Cue(start + 1, lines[start].strip() if start < time else "", words)
    for number in wrong:
        if not web or not _in_note(lines, number):
            yield Problem(number + 1, "not the time of a cue, such as 00:00:01,000 --> 00:00:03,000")


def _is_name(lines: list[str], number: int, web: bool) -> bool:
    """Whether a line above a cue's time is its name: a number, or in WebVTT any line below a blank one."""
    line = lines[number].strip()
    if web:
        return bool(line) and number > 0 and not lines[number - 1].strip()
    return line.isdecimal()


def _in_note(lines: list[str], number: int) -> bool:
    while number > 0 and lines[number - 1].strip():
        number -= 1
    return _BLOCK.fullmatch(lines[number]) is not None


def _words(lines: list[str], web: bool) -> str:
    """Return the text of a cue. It may contain blank lines; in WebVTT a note may follow it."""
    kept = []
    skipped = False
    for number, line in enumerate(lines):
        below_blank = number == 0 or not lines[number - 1].strip()
        if below_blank and number:
            skipped = web and _BLOCK.fullmatch(line) is not None
        if not skipped and line.strip():
            kept.append(line.strip())
    words = _TAG.sub("", "\n".join(kept))
    return (html.unescape(words) if web else words).strip()
