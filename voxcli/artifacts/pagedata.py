"""The data of the report page: what it shows of each line, as compact JSON.

A browser reads 100,000 lines in about a second, because there are few values in them: lines and takes are arrays
without the empty values at their end, words that many lines share, such as voices and warnings, are numbers of a
common list, and all waveforms are one string.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from voxcli.artifacts.wordmarks import KINDS, word_marks
from voxcli.audio.peaks import peaks
from voxcli.errors import AudioError
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result
from voxcli.terminal import counted, one_line

BARS = 96  # of a waveform as long as the scale
MIN_BARS = 4
LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"  # heights of bars, from 0 to 1
SCALE_PART = 0.95  # part of the sounds that are drawn to scale; longer ones end in a dashed line
MAX_EXTRA = 12  # names
DIGEST_DIGITS = 16  # enough to know a file again
LONG = 280  # characters of the value of an extra field
CHARACTER = "character"  # the column that names who speaks a line

State = Literal["failed", "doubtful", "warned", "fine", "pause"]
STATES: tuple[State, ...] = ("failed", "doubtful", "warned", "fine", "pause")  # in the order of the page


class Common:
    """What all lines share.

    folder: links to files are relative to it.
    scale:  seconds that the whole width of a waveform stands for.
    waves:  the waveforms of all takes, in order.
    """

    def __init__(self, folder: Path, scale: float):
        self.folder = folder
        self.scale = scale
        self.waves: list[str] = []
        self._names: dict[str, int] = {"": 0}

    def name(self, words: str) -> int:
        """Return the number of words that may occur many times."""
        return self._names.setdefault(words, len(self._names))

    @property
    def names(self) -> list[str]:
        return list(self._names)


def page_data(lines: Sequence[tuple[Job, Result]], folder: Path) -> dict[str, Any]:
    """Return the data of the page: see `voxcli/artifacts/desk/data.js`, which reads them.

    lines:  in manifest order; results of one id are the takes of one line.
    folder: links to files are relative to it.
    """
    common = Common(folder, _scale([result.duration_s or 0.0 for _, result in lines if result.ok]))
    by_id: dict[str, list[tuple[Job, Result]]] = {}
    for job, result in lines:
        by_id.setdefault(result.id, []).append((job, result))
    return {
        "states": STATES,
        "kinds": KINDS,
        "scale": round(common.scale, 3),
        "seconds": round(sum(result.duration_s or 0.0 for _, result in lines if result.ok), 3),
        "speed": times_real_time(result for _, result in lines),
        "lines": [_line(takes, common) for takes in by_id.values()],
        "names": common.names,
        "waves": "".join(common.waves),
    }


def to_json(data: Mapping[str, Any]) -> str:
    """Return compact JSON that can stand in a script element: nothing in it ends the element or begins a comment."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def times_real_time(results: Iterable[Result]) -> float | None:
    """Return seconds of audio per second in which at least one line was spoken; None if no times are known.

    Lines run beside each other, so their times can't be added, nor averaged: of 30 lines at once, each takes about 30
    times as long as alone. Pauses between runs don't count.
    """
    spans = []
    audio = 0.0
    for result in results:
        if result.finished and result.wall_s and result.duration_s:
            end = datetime.fromisoformat(result.finished).timestamp()
            spans.append((end - result.wall_s, end))
            audio += result.duration_s
    busy, until = 0.0, -math.inf
    for start, end in sorted(spans):
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return float(f"{audio / busy:.3g}") if busy else None


def _scale(durations: Sequence[float]) -> float:
    """Return the seconds that the whole width of a waveform stands for."""
    ordered = sorted(filter(None, durations))
    return ordered[math.ceil(SCALE_PART * len(ordered)) - 1] if ordered else 1.0


def _line(takes: Sequence[tuple[Job, Result]], common: Common) -> list[Any]:
    job, result = takes[0]
    state = max((_state(result) for _, result in takes), key=STATES.index)
    return _trimmed(
        result.id,
        result.text,
        STATES.index(state),
        [_take(place, *take, common) for place, take in enumerate(takes, 1)],
        common.name(_character(job)),
        common.name(job.voice.stem if job.voice is not None else ""),
        common.name(result.description or job.control or ""),
        common.name(next((path.name for path in (job.ref, job.prompt_audio) if path is not None), "")),
        _extra(job.extra),
        _review([result for _, result in takes]),
        _best([result for _, result in takes]),
    )


def _take(place: int, job: Job, result: Result, common: Common) -> list[Any]:
    there = result.ok
    seconds = result.duration_s or 0.0
    wave = _wave(job.out, seconds, common.scale) if there else ""
    common.waves.append(wave)
    return _trimmed(
        result.take or place,
        _link(job.out, common.folder) if there else "",
        round(seconds, 3),
        "" if result.seed is None else str(result.seed),  # a number of JavaScript can't hold each of them exactly
        len(wave),
        int(datetime.fromisoformat(result.finished).timestamp()) if result.finished else 0,
        (result.sha256 or "")[:DIGEST_DIGITS],
        common.name("\n".join(_facts(result))),
        common.name("\n".join(map(one_line, _remarks(result)))),
        word_marks(result.text, result.check),
    )


def _trimmed(*values: Any) -> list[Any]:
    kept = list(values)
    while not kept[-1]:
        kept.pop()
    return kept


def _state(result: Result) -> State:
    if result.failed:
        return "failed"
    if result.status == "skipped":
        return "pause"
    if result.doubtful:
        return "doubtful"
    return "warned" if _remarks(result) else "fine"


def _remarks(result: Result) -> list[str]:
    reasons = (result.error, result.reason)
    attempts = result.attempts or 1
    return [*filter(None, reasons), *([counted(attempts, "attempt")] if attempts > 1 else []), *result.warnings]


def _facts(result: Result) -> list[str]:
    """Return titles and values of what the page shows of the take in hand."""
    values = {
        "Ended by": result.stop_reason,
        "Sample rate": result.sample_rate and f"{result.sample_rate} Hz",
        **_measures(result.check or {}),
        "Recording": "; ".join(result.voice_notes),
    }
    return [one_line(f"{title}: {value}") for title, value in values.items() if value]


def _best(results: Sequence[Result]) -> int:
    """Return the place of the take that is shown first: the one with the fewest problems, then errors of words."""

    def rank(place: int) -> tuple[int, float, int]:
        check = results[place].check or {}
        errors = sum(value for name in ("wer", "cer") if isinstance(value := check.get(name), int | float))
        return -STATES.index(_state(results[place])), errors, place

    return min(range(len(results)), key=rank)


def _measures(check: Mapping[str, Any]) -> dict[str, str]:
    """Return what the check measured, as far as it did."""
    silence = check.get("silence")
    longest = max(silence.values(), default=0.0) if isinstance(silence, Mapping) else 0.0
    measures = [
        ("Word error rate", check.get("wer"), "{:.0%}"),
        ("Letter error rate", check.get("cer"), "{:.0%}"),
        ("Similarity", check.get("similarity"), "{:.2f}"),
        ("Loudness", check.get("lufs"), "{:.1f} LUFS"),
        ("Words a second", check.get("rate"), "{:.1f}"),
        ("Clipped samples", check.get("clipping") or None, "{:.2%}"),
        ("Longest silence", longest or None, "{:.1f} s"),
    ]
    found = {title: form.format(value) for title, value, form in measures if isinstance(value, int | float)}
    return found | ({"Heard": check["heard"]} if isinstance(check.get("heard"), str) else {})


def _review(results: Sequence[Result]) -> list[Any]:
    """Return the review that the results record: the approved take, rejected seeds, a note; empty if there is none."""
    approved, seeds, note = 0, dict[str, None](), ""
    for place, result in enumerate(results, 1):
        if (review := result.review) is not None:
            approved = (result.take or place) if review.verdict == "approved" else approved
            seeds |= dict.fromkeys(map(str, review.seeds))
            note = note or review.note
    return [approved, list(seeds), note] if approved or seeds or note else []


def _character(job: Job) -> str:
    return next((str(value) for name, value in job.extra.items() if name.casefold() == CHARACTER), "")


def _extra(extra: Mapping[str, Any]) -> list[str]:
    others = ((name, value) for name, value in extra.items() if name.casefold() != CHARACTER)
    return [f"{name}: {value}"[:LONG] for name, value in islice(others, MAX_EXTRA)]


def _wave(path: Path, seconds: float, scale: float) -> str:
    """Return the waveform, one letter a bar; empty if the file is missing or damaged.

    Quiet parts are enlarged, because loudness is not linear in amplitude.
    """
    bars = max(MIN_BARS, min(BARS, round(BARS * seconds / scale)))
    try:
        heights = peaks(path, bars)
    except AudioError:
        return ""
    return "".join(LEVELS[round(63 * min(1.0, height) ** 0.6)] for height in heights)


def _link(path: Path, folder: Path) -> str:
    try:
        return quote(Path(os.path.relpath(path, folder)).as_posix())
    except ValueError:  # another drive
        return path.absolute().as_uri()
