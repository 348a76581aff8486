"""The progress display of a run on stderr: lines done, audio made, speed, time left. Needs a terminal."""

from __future__ import annotations

from collections import defaultdict

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from voxcli.engine.load import LoadedEngine
from voxcli.jobs.job import job_id
from voxcli.jobs.plan import Plan
from voxcli.jobs.result import Outcome
from voxcli.run.summary import Summary
from voxcli.terminal import clock, one_line


class Display:
    """Shows the progress of a run. Messages are printed above the bar, or plainly without a terminal."""

    def __init__(self, summary: Summary, plan: Plan, console: Console | None = None):
        self.summary = summary
        self.console = console or Console(stderr=True)
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
            disable=not self.console.is_terminal,
        )
        self._expected_total = plan.expected_s
        self._task = self._progress.add_task("loading the model", total=max(plan.expected_s, 1e-6), made="")

    def __enter__(self) -> Display:
        if self.watched:
            self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.watched:  # without a terminal, older versions of rich print an empty line
            self._progress.stop()

    def notify(self, remark: str) -> None:
        """Print a message as one line, without interpreting markup in it."""
        self.console.print(f"voxcpm2: {one_line(remark)}", markup=False, highlight=False, soft_wrap=True)

    def started(self, loaded: LoadedEngine) -> None:
        """Start measuring speed: the model is loaded. The engine reports its progress from now on."""
        loaded.engine.on_patch = self.running
        self.speaking(loaded.name, loaded.engine.model.patch_s)

    def speaking(self, model: str, patch_s: float) -> None:
        """Start measuring speed for engines in other processes. patch_s: seconds of audio per patch."""
        self.summary.start(model)
        self._patch_s = patch_s
        self._show()

    @property
    def watched(self) -> bool:
        return not self._progress.disable

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
        if self._progress.disable:
            return
        for request_id, count in patches.items():
            self._patches[job_id(request_id)][request_id] = count
        self._show()

    def _show(self) -> None:
        if self._progress.disable:
            return
        running_s = sum(sum(counts.values()) for counts in self._patches.values()) * self._patch_s
        made = self.summary.audio_s + running_s
        wall = self.summary.wall_s
        self._progress.update(
            self._task,
            total=max(self._expected_total, 1e-6),
            completed=self._expected_done + running_s,
            description=f"{self.summary.done + self.summary.failed + self.summary.skipped}/{self._lines} lines",
            made=f"{clock(made)} of audio, RTF {wall / made:.3f}" if made else "",
        )
