"""What came of a job: the fields of results.jsonl, and the error of one that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple

from voxcli.errors import VoxError
from voxcli.jobs.job import Job


class Cue(NamedTuple):
    """Words heard from `start` to `end`, in seconds from the beginning of the file."""

    start: float
    end: float
    text: str

    def later(self, seconds: float) -> Cue:
        """The same words in a file that holds this one after so many seconds."""
        return Cue(self.start + seconds, self.end + seconds, self.text)


CUT_OFF = "cut off at a length limit"  # the warning of each result whose stop_reason is "length"


@dataclass(frozen=True)
class Result:
    """How one job ended. These are the fields of results.jsonl; what a failed job does not have is null.

    id:           of the line.
    out:          the file, from the folder of results.jsonl.
    text:         as given.
    status:       `ok` when the file is there, `skipped` when the text has no words and so no file, else `failed`.
    duration_s:   seconds of audio; of a skipped line, of the silence that it is in a joined file.
    wall_s:       seconds from its start in the engine to its end there, beside its neighbours.
    rtf:          real-time factor: `wall_s / duration_s`.
    patches:      made by the model, each of a fixed length.
    stop_reason:  `stop` at the end of the text, `silence` after it (cut away), `length` when a limit cut it off.
    seed:         gives the same audio again; of a failed line, the audio that could not be written.
    attempts:     runs in all: a clip far too long for its text is made again with the next seed.
    sample_rate:  of the file.
    description:  of the voice, from brackets before the text or from `control`: it is not spoken.
    voice_notes:  what was done to its recordings before they were used, one phrase each.
    warnings:     what to know before it is used: cut off, silence, far too long for its text, a script not spoken.
    sha256:       of the file's bytes, in hex.
    exact:        whether it has the same bytes when it is made again on this machine, alone or in any batch.
    fingerprint:  what it was made from: digests of text, voice and model, the settings, and the seed asked for.
    finished:     when it landed on the disk: ISO 8601, UTC.
    cues:         when which words are heard: `[start, end, text]` of each piece, in seconds.
    error:        why it failed.
    extra:        columns and fields of its line that are none of the manifest's, as they were there.
    """

    id: str
    out: str
    text: str
    status: Literal["ok", "skipped", "failed"]
    duration_s: float | None = None
    wall_s: float | None = None
    rtf: float | None = None
    patches: int | None = None
    stop_reason: str | None = None
    seed: int | None = None
    attempts: int | None = None
    sample_rate: int | None = None
    description: str | None = None
    voice_notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sha256: str | None = None
    exact: bool | None = None
    fingerprint: Mapping[str, Any] | None = None
    finished: str | None = None
    cues: tuple[Cue, ...] | None = None
    error: str | None = None
    extra: Mapping[str, Any] | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def failed(self) -> bool:
        return self.status == "failed"


@dataclass(frozen=True)
class Outcome:
    """A result with the job it is of and, when that failed, the error, which knows its exit code.

    before: it is of an earlier run, and still holds.
    """

    job: Job
    result: Result
    error: VoxError | None = None
    before: bool = False


def failure(job: Job, error: VoxError, folder: Path, seed: int | None = None) -> Outcome:
    """seed: that of a sound which was made, but could not be written."""
    out = shown_path(job.out, folder)
    result = Result(job.id, out, job.text, "failed", seed=seed, error=str(error), extra=job.extra or None)
    return Outcome(job, result, error)


def skipped(job: Job, pause_s: float, folder: Path) -> Outcome:
    """pause_s: the silence that its text stands for."""
    result = Result(
        job.id,
        shown_path(job.out, folder),
        job.text,
        "skipped",
        duration_s=pause_s,
        finished=now(),
        extra=job.extra or None,
    )
    return Outcome(job, result)


def shown_path(path: Path, folder: Path) -> str:
    """A path as results tell it: from their folder when it lies inside, the same on every system."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def now() -> str:
    """The time as results tell it: ISO 8601, UTC, in milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
