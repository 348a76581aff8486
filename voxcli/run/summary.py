"""The summary of a run: counts, and a few lines for people."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Counts results as they arrive."""

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

    def start(self, model: str) -> None:
        """Start measuring wall time: the model is loaded."""
        self.model = model
        self.started = perf_counter()

    def add(self, result: Result, *, before: bool = False) -> None:
        """Count a result. before: it is of an earlier run, so its audio does not count for the speed."""
        if not result.ok:
            self.failed += result.failed
            self.skipped += not result.failed
            return
        self.done += 1
        self.cut_off += result.stop_reason == "length"
        self.doubtful += result.doubtful
        self.retried += (result.attempts or 1) > 1
        self.warned += bool(result.warnings)
        self.kept += before
        self.audio_s += 0.0 if before else result.duration_s or 0.0

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
        if wrong := self.failed + self.doubtful:
            kinds = " or ".join(kind for kind in ("failed", "doubtful") if getattr(self, kind))
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
