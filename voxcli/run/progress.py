"""The progress of a run on stderr: a bar on a terminal, otherwise a line now and then, or JSON Lines for programs.

Only `isatty` decides about the bar: FORCE_COLOR asks for colors and must not draw bars into logs.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from voxcli.engine.load import LoadedEngine
from voxcli.jobs.job import job_key
from voxcli.jobs.plan import Plan
from voxcli.jobs.result import Outcome
from voxcli.run.resume import ResumePlan
from voxcli.run.summary import Summary
from voxcli.terminal import clock, counted, format_duration, one_line

ProgressKind = Literal["auto", "lines", "json", "none"]

LINE_S = 60.0  # a line at least so often
TENTH_S = 10.0  # and at each tenth of the lines, but not more often than this
QUIET_S = 30.0  # and none in a run that is over by then
JSON_S = 1.0
MIN_BAR = 10  # columns; with less, words are left out
GAP = 2  # columns between the parts of the bar's line


class _Bar:
    """The line on a terminal: a spinner while the model loads, then a bar. Words that do not fit are left out.

    It is drawn by a thread of its own, so `show` replaces all values at once.
    """

    def __init__(self) -> None:
        self._began = monotonic()
        self._state: _State | None = None
        self._spinner = Spinner("dots")
        self._plain = Spinner("line")

    def show(self, state: _State) -> None:
        self._state = state

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False, expand=True)
        if (state := self._state) is None:
            spinner = self._plain if options.ascii_only else self._spinner
            spinner.update(text=f"loading the model  {clock(monotonic() - self._began)}")
            line.add_row(spinner)
        else:
            head, tail = state.words(options.max_width - MIN_BAR - GAP)
            for ratio, style in ((None, ""), (1, ""), *((None, style) for _, style in tail)):
                line.add_column(no_wrap=True, ratio=ratio, style=style)
            bar = ProgressBar(completed=100 * state.share, complete_style="cyan", finished_style="green")
            line.add_row(Text(head), bar, *(Text(words) for words, _ in tail))
        yield line


@dataclass(frozen=True)
class _State:
    """The values of the bar at a moment.

    share:   part of the audio that is made, from 0 to 1.
    speed:   times real time; 0 while it is unknown.
    wall_s:  seconds since the model was loaded, at the time `at` (by `monotonic`).
    left_s:  seconds to go at that time; None if it is unknown.
    """

    done: int
    total: int
    noun: str
    failed: int
    doubtful: int
    audio_s: float
    speed: float
    share: float
    wall_s: float
    left_s: float | None
    at: float

    def words(self, width: int) -> tuple[str, list[tuple[str, str]]]:
        """Return the words before the bar, and those after it with their styles: what fits into `width` columns."""
        short, long = f"{self.done}/{self.total}", f"{self.done}/{self.total} {self.noun}s"
        since = monotonic() - self.at
        times = f"{clock(self.wall_s + since)} gone"
        if self.left_s is not None:
            times += f", {clock(max(0.0, self.left_s - since))} left"
        failed = [(f"{self.failed} failed", "red")] if self.failed else []
        counts = failed + ([(f"{self.doubtful} doubtful", "yellow")] if self.doubtful else [])
        audio = [(f"{format_duration(self.audio_s)} of audio", "")] if self.speed else []
        speed, fast = f"{self.speed:.1f}x real time", f"{self.speed:.1f}x"
        choices = [
            (long, [*counts, *audio, (speed, ""), (times, "")]),
            (long, [*counts, (speed, ""), (times, "")]),
            (short, [*counts, (speed, ""), (times, "")]),
            (short, [*counts, (fast, ""), (times, "")]),
            (short, [*counts, (times, "")]),
        ]
        if not self.speed:
            choices = [(long, [*counts, (times, "")]), choices[-1]]
        fitting = (each for each in choices if len(each[0]) + sum(GAP + len(words) for words, _ in each[1]) <= width)
        return next(fitting, (short, [(times.rpartition(", ")[2], "")]))


class Display:
    """Shows the progress of a run. Messages are printed above the bar, or plainly without a terminal.

    kind: "auto" is a bar on a terminal and lines elsewhere; "json" is an object a line, remarks too; "none" is remarks.
    """

    def __init__(self, plan: Plan, console: Console | None = None, kind: ProgressKind = "auto") -> None:
        self.summary = Summary()
        self.console = console or Console(stderr=True, force_terminal=is_terminal())
        self._kind = "bar" if kind == "auto" and self.console.is_terminal else "lines" if kind == "auto" else kind
        self._lines = len(plan.utterances) + len(plan.refused) + len(plan.skipped)
        self._compared, self._counted = False, 0  # with the results of earlier runs
        self._expected = {utterance.job.key: utterance.expected_s for utterance in plan.utterances}
        self._expected_done = 0.0
        self._patches: defaultdict[str, dict[str, int]] = defaultdict(
            dict
        )  # of unfinished jobs, by job id and request id
        self._patch_s = 0.0
        self._bar = _Bar()
        self._live = Live(self._bar, console=self.console, transient=True, refresh_per_second=4)
        self._expected_total = plan.expected_s
        self._last, self._tenth = monotonic(), 0

    def __enter__(self) -> Display:
        if self._kind == "bar":
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._kind == "bar":  # without a terminal, older versions of rich print an empty line
            self._live.stop()
        elif self._kind == "json":
            self._print_json("end", self._numbers())

    def notify(self, remark: str) -> None:
        """Print a message as one line, without interpreting markup in it."""
        if self._kind == "json":
            self._print_json("note", {"message": one_line(remark)})
            return
        self.console.print(f"voxcpm2: {one_line(remark)}", markup=False, highlight=False, soft_wrap=True)

    def planned(self, resume_plan: ResumePlan, *, last: bool = True) -> None:
        """Count what a run does. Called for each part of a plan, before anything of it has landed."""
        self._counted += resume_plan.takes
        self.summary.left += resume_plan.left
        if last:
            self._compared, self._lines = True, self._counted
            self._expected = {utterance.job.key: utterance.expected_s for utterance in resume_plan.todo}
            self._expected_total = sum(self._expected.values())
            self.summary.noun = resume_plan.noun

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
    def total(self) -> int:
        """How many lines, or takes of lines, the run has; 0 before it was compared with earlier runs."""
        return self._lines if self._compared else 0

    @property
    def watched(self) -> bool:
        """Whether somebody sees how each line comes along."""
        return self._kind == "bar"

    def landed(self, outcome: Outcome) -> None:
        """Count a finished job."""
        self.summary.add(outcome.result, before=outcome.before, refused=outcome.refused)
        expected = self._expected.get(outcome.job.key, 0.0)
        if outcome.before:  # kept from an earlier run: does not count for the remaining time
            self._expected_total -= expected
        else:
            self._expected_done += expected
        self._patches.pop(outcome.job.key, None)
        self._show()

    def running(self, patches: dict[str, int]) -> None:
        """Update the patches made so far, by request id. Requests may be listed until their audio is decoded."""
        if self._kind == "none" or (self._kind != "bar" and not self._is_due()):
            return
        if self._kind != "bar":
            self._patches.clear()
        for request_id, count in patches.items():
            self._patches[job_key(request_id)][request_id] = count
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
        """Seconds to go, at the speed so far; None while it is unknown."""
        made = self._expected_done + self._running_s
        return max(0.0, self._expected_total - made) / made * self.summary.wall_s if made else None

    def _line(self) -> str:
        left_s = self._left_s
        left = self._lines - self._landed
        doubtful = f"{self.summary.doubtful} doubtful, " if self.summary.doubtful else ""
        return (
            f"{self._landed} of {counted(self._lines, self.summary.noun)} done, "
            f"{self.summary.failed} failed, {doubtful}{left} left; "
            f"{format_duration(self.summary.audio_s + self._running_s)} of audio in "
            f"{format_duration(self.summary.wall_s)}"
            + (f", about {format_duration(left_s)} to go" if left_s is not None else "")
        )

    def _numbers(self) -> dict[str, Any]:
        left_s = self._left_s
        return {
            "done": self.summary.done,
            "failed": self.summary.failed,
            "doubtful": self.summary.doubtful,
            "skipped": self.summary.skipped,
            "left": self._lines - self._landed,
            "audio_s": round(self.summary.audio_s + self._running_s, 2),
            "wall_s": round(self.summary.wall_s, 2),
            "left_s": None if left_s is None else round(left_s, 2),
        }

    def _print_json(self, event: str, values: dict[str, Any]) -> None:
        print(json.dumps({"event": event} | values), file=self.console.file, flush=True)

    def _show_bar(self) -> None:
        if self.summary.started is None:
            return
        audio_s, wall_s = self.summary.audio_s + self._running_s, self.summary.wall_s
        made, total = self._expected_done + self._running_s, self._expected_total
        self._bar.show(
            _State(
                done=self._landed,
                total=self._lines,
                noun=self.summary.noun,
                failed=self.summary.failed,
                doubtful=self.summary.doubtful,
                audio_s=audio_s,
                speed=audio_s / wall_s if wall_s else 0.0,
                share=min(1.0, made / total) if total else 1.0,
                wall_s=wall_s,
                left_s=self._left_s,
                at=monotonic(),
            )
        )


def stderr_columns() -> int:
    """Return the columns of stderr; of a file, as many as a line needs."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns if is_terminal() else sys.maxsize
    except (OSError, ValueError):
        return sys.maxsize


def is_terminal() -> bool:
    """Whether stderr is a terminal that can move its cursor."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it was closed
        return False
