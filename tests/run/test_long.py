"""Ten thousand lines in one process: memory and open files do not grow. `pytest -m long -s` prints the figures.

VOXCPM2_LINES: number of lines, in the environment.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import pytest

from voxcli.artifacts.artifacts import Artifacts
from voxcli.engine.load import ModelOptions
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Outcome
from voxcli.jobs.settings import Settings
from voxcli.run.batch import speak_all

STATM, OPEN = Path("/proc/self/statm"), Path("/proc/self/fd")
EVERY = 100  # lines between two samples
WARM = 0.2  # share of the lines in which caches, pools and the allocator may fill up


class Look(NamedTuple):
    """A sample. lines: finished; rss: MB; files: open files; seconds: wall time; cpu: seconds of CPU time."""

    lines: int
    rss: float
    files: int
    seconds: float
    cpu: float


class Watch:
    """Takes the place of a batch's artifacts, to be called for every finished line."""

    folders: frozenset[Path] = frozenset()

    def __init__(self) -> None:
        self.began, self.began_cpu = time.perf_counter(), time.process_time()
        self.lines, self.looks = 0, list[Look]()

    def prepare(self, rate: int) -> None:
        pass

    def make(self, notify: object) -> None:
        pass

    def add(self, outcome: Outcome) -> None:
        assert outcome.result.ok, outcome.error
        self.lines += 1
        if self.lines % EVERY == 0:
            rss = int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            seconds, cpu = time.perf_counter() - self.began, time.process_time() - self.began_cpu
            self.looks.append(Look(self.lines, rss, len(list(OPEN.iterdir())), seconds, cpu))


@pytest.mark.long
@pytest.mark.skipif(not STATM.is_file(), reason="needs /proc")
def test_memory_and_open_files_stay_flat(tiny_checkpoint: Path, tmp_path: Path) -> None:
    count = int(os.environ.get("VOXCPM2_LINES", "10000"))
    settings = Settings(steps=2, max_seconds=0.5)
    jobs = [
        Job(f"{n}", f"Line {10 + n % 90} of them.", tmp_path / f"{n % 50}" / f"{n}.wav", settings=settings)
        for n in range(count)
    ]
    watch = Watch()
    plan = make_plan(jobs)
    speak_all(plan, tmp_path, ModelOptions(model=str(tiny_checkpoint)), artifacts=cast(Artifacts, watch))
    assert watch.lines == count
    looks = [look for look in watch.looks if look.lines > WARM * count]
    slope = 1000 * float(np.polyfit([look.lines for look in looks], [look.rss for look in looks], 1)[0])
    files = {look.files for look in looks}
    print(
        f"\n{count:,} lines in {watch.looks[-1].seconds:.0f} s, {looks[0].rss:.0f} MB warm, {looks[-1].rss:.0f} MB at "
        f"the end, slope {slope:.3f} MB per 1,000 lines, {min(files)} to {max(files)} files open; in each tenth "
        f"lines a second: {rates(watch.looks, [look.seconds for look in watch.looks])}, "
        f"lines a CPU second: {rates(watch.looks, [look.cpu for look in watch.looks])}"
    )
    assert slope < 1.0
    assert max(files) - min(files) <= 2, "more than the file being written and its folder"


def rates(looks: list[Look], spent: list[float]) -> str:
    """Return lines per second in each tenth of the run, counted from the first sample, after the model has loaded.

    spent: seconds since the start at each sample.
    """
    lines = [look.lines for look in looks]
    edges = np.linspace(lines[0], lines[-1], 11)
    return " ".join(f"{rate:.2f}" for rate in np.diff(edges) / np.diff(np.interp(edges, lines, spent)))
