"""The result of a job: the fields of results.jsonl, and the error of a job that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Lt

from voxcli.errors import VoxError
from voxcli.jobs.job import Job, take_key

# Limits of the values that are read back, for pydantic; anything outside is no measurement of this program.
Amount = Annotated[float, Ge(0), Lt(1e9)]
Count = Annotated[int, Ge(0), Lt(2**63)]


class Cue(NamedTuple):
    """Words heard from `start` to `end`, in seconds from the beginning of the file."""

    start: Amount
    end: Amount
    text: str

    def later(self, seconds: float) -> Cue:
        """Return the cue moved by `seconds`."""
        return Cue(self.start + seconds, self.end + seconds, self.text)


Verdict = Literal["approved", "rejected"]


@dataclass(frozen=True)
class Review:
    """What a person decided about a take.

    verdict:  of the take's audio; None once it was spoken again.
    note:     a remark on the line.
    seeds:    all rejected seeds of the line.
    approved: SHA-256 of the audio that was approved last, if the take was spoken again since; empty otherwise.
    rejected: likewise, of the audio that was rejected last.
    """

    __pydantic_config__ = {"strict": True, "extra": "ignore"}  # noqa: RUF012 - annotated, it would count as a field

    verdict: Verdict | None = None
    note: str = ""
    seeds: tuple[Count, ...] = ()
    approved: str = ""
    rejected: str = ""

    def recorded(self) -> dict[str, Any]:
        """Return the fields for results.jsonl: those that say something."""
        return {name: value for name, value in vars(self).items() if value}


OPTIONAL = ("take", "review")  # fields that are absent instead of null
CUT_OFF = "cut off at a length limit"  # the warning for stop_reason "length"


@dataclass(frozen=True)
class Result:
    """The result of one job. These are the fields of results.jsonl; fields that a failed job lacks are null.

    `voxcli.run.resultlines` checks their types and limits when a line is read.

    id:           id of the line.
    out:          path of the file, relative to the folder of results.jsonl.
    text:         the text as given.
    status:       `ok`, `doubtful` if the check found a fault, `skipped` (no file) if it has no words, else `failed`.
    reason:       why it is doubtful.
    duration_s:   seconds of audio; of a skipped line, seconds of silence in a joined file.
    wall_s:       seconds in the engine, from its start to its end, while other lines run beside it.
    rtf:          real-time factor: `wall_s / duration_s`.
    patches:      patches made by the model; a patch has a fixed length.
    stop_reason:  `stop` at the end of the text, `silence` if trailing silence was removed, `length` if cut off.
    seed:         reproduces the audio; of a failed line, that of audio that could not be written.
    attempts:     number of attempts: a clip far too long or short for its text is retried with the next seed.
    sample_rate:  sample rate of the file in Hz.
    description:  description of the voice, from brackets before the text or from `control`; it is not spoken.
    voice_notes:  how its recordings were converted, one phrase each.
    voice:        voice file that lines without a voice share, relative to the folder of results.jsonl.
    warnings:     reasons to listen before using it: cut off, silence, far too long or short, letters not spoken.
    sha256:       SHA-256 of the file, in hex.
    exact:        true if it gets the same bytes again on this machine, alone or in any batch.
    fingerprint:  digests of text, voice and model, the settings, and the requested seed.
    finished:     time at which the file was written: ISO 8601, UTC.
    cues:         `[start, end, text]` of each segment, in seconds.
    check:        what the check found: error rates, wrong words by their place in `text`, and measures, see Check.
    words:        `[start, end, word]` of each word, in seconds, heard by the check.
    error:        why it failed.
    extra:        further fields of the line, copied from the manifest.
    take:         number of the take, from 1; absent for the only take of a line.
    review:       `verdict`, `note`, rejected `seeds`, `sha256` of what was judged before; absent without any.
    """

    __pydantic_config__ = {"strict": True, "extra": "ignore"}  # noqa: RUF012 - annotated, it would count as a field

    id: str
    out: str
    text: str
    status: Literal["ok", "doubtful", "skipped", "failed"]
    duration_s: Amount | None = None
    wall_s: Amount | None = None
    rtf: Amount | None = None
    patches: Count | None = None
    stop_reason: str | None = None
    seed: Count | None = None
    attempts: Count | None = None
    sample_rate: Count | None = None
    description: str | None = None
    voice_notes: tuple[str, ...] = ()
    voice: str | None = None
    warnings: tuple[str, ...] = ()
    sha256: str | None = None
    exact: bool | None = None
    fingerprint: Mapping[str, Any] | None = None
    finished: str | None = None
    cues: tuple[Cue, ...] | None = None
    reason: str | None = None
    check: Mapping[str, Any] | None = None
    words: tuple[Cue, ...] | None = None
    error: str | None = None
    extra: Mapping[str, Any] | None = None
    take: Annotated[int, Ge(1), Lt(2**63)] | None = None
    review: Review | None = None

    @property
    def key(self) -> str:
        """Identifies the take: see `Job.key`."""
        return take_key(self.id, self.take)

    def recorded(self) -> dict[str, Any]:
        """Return the fields for results.jsonl."""
        values = {name: value for name, value in vars(self).items() if value is not None or name not in OPTIONAL}
        return values if self.review is None else values | {"review": self.review.recorded()}

    @property
    def ok(self) -> bool:
        """Whether there is a file; a doubtful one counts."""
        return self.status in ("ok", "doubtful")

    @property
    def doubtful(self) -> bool:
        return self.status == "doubtful"

    @property
    def failed(self) -> bool:
        return self.status == "failed"


@dataclass(frozen=True)
class Outcome:
    """A job, its result and, if it failed, the error, which has an exit code.

    before:  the result is of an earlier run and still valid.
    refused: it failed before it was spoken, so that only a change of the line or its files can help.
    """

    job: Job
    result: Result
    error: VoxError | None = None
    before: bool = False
    refused: bool = False


def failure(job: Job, error: VoxError, folder: Path, seed: int | None = None) -> Outcome:
    """Make the outcome of a failed job. seed: the seed of audio that was made but could not be written."""
    out = shown_path(job.out, folder)
    result = Result(
        job.id,
        out,
        job.text,
        "failed",
        seed=seed,
        error=str(error),
        extra=job.extra or None,
        take=job.recorded_take,
    )
    return Outcome(job, result, error)


def skipped(job: Job, pause_s: float, folder: Path) -> Outcome:
    """Make the outcome of a job without words. pause_s: seconds of silence that its text stands for."""
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
    """Return a path for results: relative to `folder` with forward slashes if it lies inside, else as it is."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def now() -> str:
    """Return the current time for results: ISO 8601, UTC, in milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
