"""results.jsonl: one line for each job as it ends, on the disk before the next is written."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal

from voxcli.errors import OutputError, VoxError
from voxcli.run.job import Job

FILE_NAME = "results.jsonl"


@dataclass(frozen=True)
class Result:
    """How one job ended. These are the fields of results.jsonl; what a failed job does not have is null.

    out:          the file, from the folder of results.jsonl.
    text:         as given.
    status:       "ok" when the file is there, else "failed" and `error` tells why.
    duration_s:   seconds of audio.
    wall_s:       seconds from its start in the engine to its end there, beside its neighbours.
    rtf:          wall_s / duration_s.
    patches:      made by the model, each of a fixed length.
    stop_reason:  "stop" at the end of the text, "length" when a limit cut it off.
    seed:         gives the same audio again.
    attempts:     runs in all; more than 1 after bad cases.
    """

    id: str
    out: str
    text: str
    status: Literal["ok", "failed"]
    duration_s: float | None = None
    wall_s: float | None = None
    rtf: float | None = None
    patches: int | None = None
    stop_reason: str | None = None
    seed: int | None = None
    attempts: int | None = None
    sample_rate: int | None = None
    error: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True)
class Outcome:
    """A result with the job it is of and, when that failed, the error, which knows its exit code."""

    job: Job
    result: Result
    error: VoxError | None = None


def failure(job: Job, error: VoxError, folder: Path) -> Outcome:
    result = Result(id=job.id, out=shown_path(job.out, folder), text=job.text, status="failed", error=str(error))
    return Outcome(job, result, error)


def shown_path(path: Path, folder: Path) -> str:
    """A path as results tell it: from their folder when it lies inside, the same on every system."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


class ResultLog:
    """Appends results and syncs each one. A line torn by a crash stays a line of its own: what follows is intact."""

    def __init__(self, folder: Path):
        self.path = folder / FILE_NAME
        self._file: IO[bytes] | None = None

    def __enter__(self) -> ResultLog:
        try:
            self._file = open(self.path, "a+b")
            self._file.seek(0, os.SEEK_END)
            if self._file.tell():
                self._file.seek(-1, os.SEEK_END)
                if self._file.read(1) != b"\n":
                    self._file.write(b"\n")
        except OSError as error:
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, result: Result) -> None:
        assert self._file is not None, "a result log is written inside its `with` block"
        try:
            self._file.write(json.dumps(asdict(result), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
