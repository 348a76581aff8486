"""The summary of a run: counts, and a few lines for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from voxcli.errors import VoxError
from voxcli.jobs.result import Result
from voxcli.terminal import counted, format_duration


class Spoken(NamedTuple):
    """A one-line summary of a finished job, whether a length limit cut it off, and whether the check found a fault."""

    line: str
    cut_off: bool
    doubtful: bool = False


@dataclass
class Summary:
    """Counts results as they arrive. Faults of a line that has an approved take do not count: it is done."""

    done: int = 0
    kept: int = 0  # lines of `done` that an earlier run made
    failed: int = 0
    skipped: int = 0  # without words
    left: int = 0
    warned: int = 0
    cut_off: int = 0
    doubtful: int = 0  # lines of `done` in which the check found a fault
    retried: int = 0
    audio_s: float = 0.0
    noun: str = "line"  # what is counted
    error: VoxError | None = None  # the first error while making artifacts of the finished files
    model: str = ""
    started: float | None = None
    settled: int = 0  # of `failed`, takes of lines that have an approved take
    refused: int = 0  # of `failed`, those that another attempt can't help
    _approved: set[str] = field(default_factory=set)  # ids
    _faults: dict[str, Counter[str]] = field(default_factory=dict)  # by id

    def start(self, model: str) -> None:
        """Start measuring wall time: the model is loaded."""
        self.model = model
        self.started = perf_counter()

    def add(self, result: Result, *, before: bool = False, refused: bool = False) -> None:
        """Count a result.

        before:  it is of an earlier run, so its audio does not count for the speed.
        refused: it failed before it was spoken, so that another attempt can't help.
        """
        self._add_faults(result, refused=refused)
        if not result.ok:
            self.failed += result.failed
            self.skipped += not result.failed
            return
        self.done += 1
        self.retried += (result.attempts or 1) > 1
        self.kept += before
        self.audio_s += 0.0 if before else result.duration_s or 0.0

    def _add_faults(self, result: Result, *, refused: bool) -> None:
        if result.review is not None and result.review.verdict == "approved":
            self._approved.add(result.id)
            self._count(self._faults.pop(result.id, Counter()), -1)
        found = {
            "failed": result.failed,
            "doubtful": result.doubtful,
            "cut_off": result.ok and result.stop_reason == "length",
            "warned": result.ok and bool(result.warnings),
            "refused": result.failed and refused,
        }
        faults = Counter(name for name, there in found.items() if there)
        if result.id in self._approved:
            self.settled += result.failed
        elif faults:
            self._faults.setdefault(result.id, Counter()).update(faults)
            self._count(faults, 1)

    def _count(self, faults: Counter[str], sign: int) -> None:
        """Count faults, or take them back. Failed takes stay counted, as there is no file, but are settled."""
        for name in ("doubtful", "cut_off", "warned", "refused"):
            setattr(self, name, getattr(self, name) + sign * faults[name])
        self.settled += faults["failed"] if sign < 0 else 0

    @property
    def open_failed(self) -> int:
        """How many takes failed of lines without an approved take."""
        return self.failed - self.settled

    @property
    def wall_s(self) -> float:
        return 0.0 if self.started is None else perf_counter() - self.started

    def lines(self) -> list[str]:
        before = f" ({self.kept} before)" if self.kept else ""
        left = f", {self.left} left" if self.left else ""
        skipped = f", {self.skipped} without words" if self.skipped else ""
        total = self.done + self.failed + self.skipped + self.left
        lines = [f"{self.done} of {counted(total, self.noun)} done{before}, {self.failed} failed{skipped}{left}"]
        wall = self.wall_s
        if self.audio_s and wall:
            lines.append(
                f"{format_duration(self.audio_s)} of audio in {format_duration(wall)}: "
                f"{self.audio_s / wall:.2f}x real time ({self.model})"
            )
        if self.retried:
            lines.append(f"{self.retried} took more than one attempt")
        if self.cut_off:
            lines.append(f"{self.cut_off} cut off at a length limit (stop_reason: length)")
        if self.doubtful:
            lines.append(f"{self.doubtful} doubtful (see `reason` in results.jsonl)")
        if self.warned:
            lines.append(f"{self.warned} with warnings (see results.jsonl)")
        return lines

    def next_steps(self, report: Path | None) -> list[str]:
        """Return what to do about lines that are not right. report: the page that shows all lines."""
        steps = []
        counts = {"failed": self.open_failed - self.refused, "doubtful": self.doubtful}
        if wrong := sum(counts.values()):
            kinds = " or ".join(kind for kind, count in counts.items() if count)
            steps.append(f"next: add --retry-failed to speak {counted(wrong, f'{kinds} {self.noun}')} again")
        if report is not None and (self.doubtful or self.warned):
            steps.append(f"next: judge the lines in {report}; --review redoes rejected ones")
        elif self.doubtful:
            steps.append(f"next: add --report FILE.html to judge {counted(self.doubtful, f'doubtful {self.noun}')}")
        return steps

    def one_line(self, result: Result, out: Path) -> str:
        """Describe the result of a run of one line."""
        length = "cut off at " if result.stop_reason == "length" else ""
        return (
            f"{out}: {length}{format_duration(result.duration_s or 0.0)} of audio in "
            f"{format_duration(result.wall_s or 0.0)}, seed {result.seed} ({self.model})"
        )
