"""The progress of a run on stderr: a bar on a terminal, otherwise a line now and then, or JSON Lines for programs.

Only `isatty` decides about the bar: FORCE_COLOR asks for colors and must not draw bars into logs.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from time import monotonic
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from voxcli.engine.load import LoadedEngine
from voxcli.jobs.job import job_id
from voxcli.jobs.plan import Plan
from voxcli.jobs.result import Outcome
from voxcli.run.summary import Summary
from voxcli.terminal import counted, format_duration, one_line

ProgressKind = Literal["auto", "lines", "json", "none"]

LINE_S = 60.0  # a line at least so often
TENTH_S = 10.0  # and at each tenth of the lines, but not more often than this
QUIET_S = 30.0  # and none in a run that is over by then
JSON_S = 1.0


class Display:
    """Shows the progress of a run. Messages are printed above the bar, or plainly without a terminal.

    kind: "auto" is a bar on a terminal and lines elsewhere; "json" is an object a line, remarks too; "none" is remarks.
    """

    def __init__(
        self, summary: Summary, plan: Plan, console: Console | None = None, kind: ProgressKind = "auto"
    ) -> None:
        self.summary = summary
        self.console = console or Console(stderr=True, force_terminal=is_terminal())
        self._kind = "bar" if kind == "auto" and self.console.is_terminal else "lines" if kind == "auto" else kind
        self._lines = len(plan.utterances) + len(plan.refused) + len(plan.skipped)
        self._expected = {utterance.job.id: utterance.expected_s for utterance in plan.utterances}
        self._expected_done = 0.0
        self._patches: defaultdict[str, dict[str, int]] = defaultdict(
            dict
        )  # of unfinished jobs, by job id and request id
        self._patch_s = 0.0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[made]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            refresh_per_second=4,
            disable=self._kind != "bar",
        )
        self._expected_total = plan.expected_s
        self._last, self._tenth = monotonic(), 0
        self._task = self._progress.add_task("loading the model", total=max(plan.expected_s, 1e-6), made="")

    def __enter__(self) -> Display:
        if self._kind == "bar":
            self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._kind == "bar":  # without a terminal, older versions of rich print an empty line
            self._progress.stop()
        elif self._kind == "json":
            self._print_json("end", self._numbers())

    def notify(self, remark: str) -> None:
        """Print a message as one line, without interpreting markup in it."""
        if self._kind == "json":
            self._print_json("note", {"message": one_line(remark)})
            return
        self.console.print(f"voxcpm2: {one_line(remark)}", markup=False, highlight=False, soft_wrap=True)

    def started(self, loaded: LoadedEngine) -> None:
        """Start measuring speed: the model is loaded. The engine reports its progress from now on."""
        loaded.engine.on_patch = self.running
        self.speaking(loaded.name, loaded.engine.model.patch_s)

    def speaking(self, model: str, patch_s: float) -> None:
        """Start measuring speed for engines in other processes. patch_s: seconds of audio per patch."""
        self.summary.start(model)
        self._patch_s = patch_s
        self._last = monotonic()
        if self._kind == "json":
            self._print_json("start", {"model": model, "lines": self._lines})
        self._show()

    @property
    def watched(self) -> bool:
        """Whether somebody sees how each line comes along."""
        return self._kind == "bar"

    def landed(self, outcome: Outcome) -> None:
        """Count a finished job."""
        self.summary.add(outcome.result, before=outcome.before)
        expected = self._expected.get(outcome.job.id, 0.0)
        if outcome.before:  # kept from an earlier run: does not count for the remaining time
            self._expected_total -= expected
        else:
            self._expected_done += expected
        self._patches.pop(outcome.job.id, None)
        self._show()

    def running(self, patches: dict[str, int]) -> None:
        """Update the patches made so far, by request id. Requests may be listed until their audio is decoded."""
        if self._kind == "none" or (self._kind != "bar" and not self._is_due()):
            return
        if self._kind != "bar":
            self._patches.clear()
        for request_id, count in patches.items():
            self._patches[job_id(request_id)][request_id] = count
        self._show()

    def _show(self) -> None:
        if self._kind == "bar":
            self._show_bar()
        elif self._kind != "none" and self._is_due():
            self._last, self._tenth = monotonic(), self._tenths
            if self._kind == "json":
                self._print_json("progress", self._numbers())
            elif self._landed < self._lines:  # else the summary follows
                self.notify(self._line())

    def _is_due(self) -> bool:
        """Whether it is time for a line."""
        since = monotonic() - self._last
        if self._kind == "json":
            return since >= JSON_S
        at_tenth = since >= TENTH_S and self._tenths > self._tenth
        return self.summary.wall_s >= QUIET_S and (since >= LINE_S or at_tenth)

    @property
    def _landed(self) -> int:
        return self.summary.done + self.summary.failed + self.summary.skipped

    @property
    def _tenths(self) -> int:
        return 10 * self._landed // max(self._lines, 1)

    @property
    def _running_s(self) -> float:
        """Seconds of audio of lines that have not landed."""
        return sum(sum(counts.values()) for counts in self._patches.values()) * self._patch_s

    @property
    def _left_s(self) -> float | None:
        """Seconds to go, at the speed so far; None while nothing tells."""
        made = self._expected_done + self._running_s
        return max(0.0, self._expected_total - made) / made * self.summary.wall_s if made else None

    def _line(self) -> str:
        left_s = self._left_s
        left = self._lines - self._landed
        return (
            f"{self._landed} of {counted(self._lines, 'line')} done, {self.summary.failed} failed, {left} left; "
            f"{format_duration(self.summary.audio_s + self._running_s)} of audio in "
            f"{format_duration(self.summary.wall_s)}"
            + (f", about {format_duration(left_s)} to go" if left_s is not None else "")
        )

    def _numbers(self) -> dict[str, Any]:
        left_s = self._left_s
        return {
            "done": self.summary.done,
            "failed": self.summary.failed,
            "skipped": self.summary.skipped,
            "left": self._lines - self._landed,
            "audio_s": round(self.summary.audio_s + self._running_s, 2),
            "wall_s": round(self.summary.wall_s, 2),
            "left_s": None if left_s is None else round(left_s, 2),
        }

    def _print_json(self, event: str, values: dict[str, Any]) -> None:
        print(json.dumps({"event": event} | values), file=self.console.file, flush=True)

    def _show_bar(self) -> None:
        made = self.summary.audio_s + self._running_s
        wall = self.summary.wall_s
        self._progress.update(
            self._task,
            total=max(self._expected_total, 1e-6),
            completed=self._expected_done + self._running_s,
            description=f"{self._landed}/{self._lines} lines",
            made=f"{format_duration(made)} of audio, RTF {wall / made:.3f}" if made else "",
        )


def is_terminal() -> bool:
    """Whether stderr is a terminal that can move its cursor."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it was closed
        return False
