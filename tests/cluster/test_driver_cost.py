"""The driver's cost per line.

The workers here compute nothing and answer at once, so only the driver's own work is measured: how often it waits for
the disk, and how many lines of code it runs. `pytest -m long -s` of this file prints the cost in microseconds, from
which voxcli/cluster/README.md computes the limits of large clusters.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.pools import batch_run
from tests.counting import lines_run
from voxcli.cluster.driver import Driver
from voxcli.cluster.messages import FinishedResult, PollReply, WorkerConfig, WorkerReady, WorkItem
from voxcli.cluster.options import ClusterOptions
from voxcli.cluster.placement import Placement
from voxcli.engine.load import ModelOptions
from voxcli.jobs.fingerprint import Fingerprint
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance, prepare
from voxcli.jobs.result import Outcome, Result
from voxcli.run.results import ResultLog, read_results
from voxcli.voices.source import EncodedVoice

ROWS = 64
TEXT = "The river ran under an old stone bridge, and nobody on it could remember when it had been built."


def utterances(out: Path, count: int) -> list[Utterance]:
    found = []
    for n in range(count):
        utterance = prepare(Job(f"line-{n:06d}", TEXT, out / f"line-{n:06d}.wav"))
        found.append(
            Utterance(
                utterance.job,
                utterance.segments,
                "",
                6.0,
                seed=n,
                fingerprint=Fingerprint("0123456789abcdef", None, {"format": "wav"}, "0123456789abcdef", None),
            )
        )
    return found


def result_of(job: Job, size: int = 0) -> FinishedResult:
    result = Result(
        id=job.id,
        out=job.out.as_posix(),
        text=job.text,
        status="ok",
        duration_s=6.08,
        wall_s=3.2134,
        rtf=0.5285,
        patches=38,
        stop_reason="stop",
        seed=1234567,
        attempts=1,
        sample_rate=48_000,
        sha256="0" * 64,
        fingerprint={"text": "0123456789abcdef", "voice": None, "settings": {}, "model": "0" * 16, "seed": None},
        finished="2026-01-01T00:00:00.000+00:00",
    )
    return FinishedResult(result, bytes(size) if size else None)


class Echo:
    """A worker that finishes every line at once."""

    def __init__(self, group: int, size: int = 0):
        """group: maximum number of results per reply.  size: bytes of the file sent with each result."""
        self.group, self.size = group, size
        self.lines: deque[Job] = deque()
        self.changed = threading.Condition()
        self.over = False

    def load(self) -> WorkerReady:
        return WorkerReady("here", os.getpid(), ROWS, 0.16, "nothing")

    def put(self, config: list[WorkItem], *voices: EncodedVoice) -> None:
        with self.changed:
            self.lines.extend(order.utterance.job for order in config)
            self.changed.notify_all()

    def take(self, wait_s: float) -> PollReply:
        with self.changed:
            self.changed.wait_for(lambda: self.lines or self.over, wait_s)
            count = min(self.group, len(self.lines))
            return PollReply(tuple(result_of(self.lines.popleft(), self.size) for _ in range(count)), ROWS)

    def give_back(self, count: int) -> list[str]:
        return []

    def stop(self) -> PollReply:
        with self.changed:
            self.over = True
            self.changed.notify_all()
        return PollReply()


class Near:
    """An Echo in this thread: all calls are answered at once, except that `take` waits until there are lines."""

    def __init__(self, group: int):
        self.echo = Echo(group)
        self.waiting: Future[Any] | None = None

    def ask(self, method: str, *values: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        if method == "take" and not self.echo.lines and not self.echo.over:
            self.waiting = answer
            return answer
        answer.set_result(getattr(self.echo, method)(*(values if method != "take" else (0.0,))))
        if method in ("put", "stop") and self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            waiting.set_result(self.echo.take(0.0))
        return answer

    def kill(self) -> None:
        pass


class NearFleet:
    def __init__(self, size: int, group: int):
        self.size, self.group = size, group

    def start(self) -> Near:
        return Near(self.group)

    def share(self, value: EncodedVoice) -> object:
        return value


@contextmanager
def driven(pool: Any, out: Path, count: int, *, noted: bool) -> Iterator[Iterator[Outcome]]:
    """Yield the outcomes of `count` lines after the first one, when the workers have loaded."""
    with ResultLog(out) as log:
        run = Driver(
            pool,
            [utterances(out, count)],
            batch_run(out, log if noted else None),
            options=ClusterOptions(),
            rate=16_000,
            encoder=str,
        ).run()
        assert next(run).result.ok
        yield run


def cost(pool: Any, out: Path, count: int, *, noted: bool) -> tuple[float, float]:
    """Return microseconds per line: wall time, and CPU time of this process."""
    with driven(pool, out, count, noted=noted) as run:
        clock, processor = time.perf_counter(), time.process_time()
        landed = sum(outcome.result.ok for outcome in run)
        spent = (time.perf_counter() - clock, time.process_time() - processor)
    assert landed == count - 1
    return 1e6 * spent[0] / landed, 1e6 * spent[1] / landed


@pytest.mark.parametrize("group", [1, 4, 16, 64])
def test_results_that_come_together_wait_for_the_disk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), real(handle)))
    results = [result_of(Job(f"{n}", TEXT, Path(f"{n}.wav"))).result for n in range(64)]
    with ResultLog(tmp_path) as log:
        log.append(results[0])  # makes the file, and syncs its folder
        synced.clear()
        for first in range(1, 64, group):
            log.append(*results[first : first + group])
        assert len(synced) == -(-63 // group)
    assert list(read_results(tmp_path).values()) == results


def lines_of_code(pool: Any, out: Path, count: int) -> float:
    """Run by the driver for each line."""
    landed: list[Outcome] = []
    with driven(pool, out, count, noted=False) as run:
        lines = lines_run(lambda: landed.extend(run))
    assert len({outcome.job.id for outcome in landed if outcome.result.ok}) == count - 1
    return lines / len(landed)


@pytest.mark.slow
def test_a_line_costs_the_same_with_many_workers(tmp_path: Path) -> None:
    few, many = (lines_of_code(NearFleet(size, 16), tmp_path, 400 * size) for size in (4, 32))
    assert many <= 1.1 * few


@pytest.mark.long
def test_results_in_microseconds(tmp_path: Path) -> None:
    line = result_of(Job("line", TEXT, Path("line.wav"))).result
    costs = []
    for group in (1, 4, 16, 64):
        with ResultLog(tmp_path) as log:
            count = max(200, 20 * group)
            began = time.perf_counter()
            for _ in range(count // group):
                log.append(*[line] * group)
            costs.append(f"{group} per sync: {1e6 * (time.perf_counter() - began) / count:.0f}")
    print(f"\nresults.jsonl, microseconds per line: {', '.join(costs)}")
    assert read_results(tmp_path) == {"line": line}


@pytest.mark.long
def test_logic_in_microseconds(tmp_path: Path) -> None:
    for size, count in ((1, 20_000), (100, 40_000), (1000, 200_000)):
        _, processor = cost(NearFleet(size, 16), tmp_path, count, noted=False)
        print(f"\n{size} workers, 16 results per reply, not recorded: {processor:.0f} us of CPU time per line", end="")
    print()


@pytest.fixture
def cluster(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    monkeypatch.setenv("PYTHONPATH", str(repository))
    from voxcli.cluster import ray_pool as cluster

    with cluster._connected(None):
        yield cluster


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("group", "size"), [(1, 0), (4, 0), (16, 0), (64, 0), (16, 576_000)])
def test_through_ray(cluster: Any, tmp_path: Path, group: int, size: int) -> None:
    import ray

    class WorkerPool(cluster.RayPool):  # type: ignore[misc, name-defined]
        def start(self) -> Any:
            return cluster.RayWorker(actor.remote(group, size))

    actor = ray.remote(num_cpus=0, max_concurrency=8)(Echo)
    nothing = WorkerConfig("", "", ModelOptions(), "", "", "", 1)
    pool = WorkerPool(nothing, Placement(2, 0, 0, 1, "cpu"))
    clock, processor = cost(pool, tmp_path, 1000 if size else 200 * max(16, group), noted=True)
    print(
        f"\n2 workers on Ray, {group} results per reply{f' with files of {size:,} bytes' if size else ''}, recorded: "
        f"{clock:.0f} us per line, {processor:.0f} us of the driver's CPU time",
        file=sys.__stdout__,  # sys.stdout is redirected while Ray is connected
    )
