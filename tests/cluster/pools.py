"""Workers as threads of the test process: the real worker and the real driver, without Ray between them.

Also finds the processes of workers that do run on Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from voxcli.cluster.messages import WorkerConfig, WorkerReady
from voxcli.cluster.pool import WorkerDied
from voxcli.cluster.worker import Worker
from voxcli.engine.load import ModelOptions
from voxcli.jobs.plan import Plan
from voxcli.model.hub import model_identity
from voxcli.run.batch import BatchRun
from voxcli.run.progress import Display
from voxcli.run.results import ResultLog
from voxcli.voices.source import EncodedVoice

NONCE = "a nonce"


def config(checkpoint: Path, out: Path, **values: Any) -> WorkerConfig:
    (out / ".voxcpm2-probe.part").write_text(NONCE)
    options = ModelOptions(device="cpu", max_batch=4)
    return replace(
        WorkerConfig(
            model=str(checkpoint),
            identity=model_identity([checkpoint]),
            options=options,
            folder=str(out),
            probe=".voxcpm2-probe.part",
            nonce=NONCE,
            threads=1,
        ),
        **values,
    )


Hook = Callable[["ThreadHandle", str, tuple[Any, ...]], None]


class ThreadHandle:
    def __init__(self, config: WorkerConfig, pool: ThreadPool):
        self.worker = Worker(config)
        self.pool = pool
        self.alive, self._gone = True, False
        self.frozen = False  # True: it does not answer until it is killed
        self._pool = ThreadPoolExecutor(8)
        self._open: set[Future[Any]] = set()

    def ask(self, method: str, *values: object) -> Future[Any]:
        self.pool.before(self, method, values)
        answer = self._asked(method, *values)
        self.pool.after(self, method, values)
        return answer

    def _asked(self, method: str, *values: object) -> Future[Any]:
        answer: Future[Any] = Future()
        if not self.alive:
            answer.set_exception(WorkerDied("it was killed"))
            return answer
        self._open.add(answer)
        if self.frozen:
            return answer

        def call() -> None:
            try:
                value = getattr(self.worker, method)(*values)
            except BaseException as error:
                self._answer(answer, answer.set_exception, error)
            else:
                self._answer(answer, answer.set_result, value)

        self._pool.submit(call)
        return answer

    def _answer(self, answer: Future[Any], give: Callable[[Any], None], value: object) -> None:
        if answer in self._open and not self.frozen:
            self._open.discard(answer)
            give(value)

    def die(self) -> None:
        """Fail all open calls, as when a process dies."""
        self.alive = self.frozen = False
        for answer in list(self._open):
            self._answer(answer, answer.set_exception, WorkerDied("it was killed"))
        self.kill()

    def kill(self, ready: WorkerReady | None = None) -> None:
        if self.frozen:
            self.die()
        self.alive = False
        if not self._gone:
            self._gone = True
            if hasattr(self.worker, "_thread"):
                self._pool.submit(self.worker.stop)
            self._pool.shutdown(wait=False)


class ThreadPool:
    """A pool of workers in threads.

    made:          all workers so far.
    shared:        all values shared so far.
    before, after: hooks, called in the driver's thread around each call of a worker with worker, method and values.
    """

    def __init__(self, size: int, *config: WorkerConfig):
        """config: of the first, second, ... worker; all further workers use the last one."""
        self.size = size
        self.made: list[ThreadHandle] = []
        self.shared: list[EncodedVoice] = []
        self.before: Hook = lambda handle, method, values: None
        self.after: Hook = lambda handle, method, values: None
        self._config = config

    def start(self) -> ThreadHandle:
        self.made.append(ThreadHandle(self._config[min(len(self.made), len(self._config) - 1)], self))
        return self.made[-1]

    def share(self, value: EncodedVoice) -> object:
        self.shared.append(value)
        return value


def workers_of(driver: int) -> list[int]:
    """Return the ids of all Ray worker processes below a driver's process."""
    parents, found = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if (entry / "cmdline").read_bytes().startswith(b"ray::Worker"):
                    found.append(int(entry.name))
            except (OSError, ValueError):
                continue
    return [worker for worker in found if driver in ancestors(worker, parents)]


def busiest(driver: int) -> int:
    """Return the worker process with the most CPU time: it has loaded and speaks."""

    def computed(process: int) -> int:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    return max(workers_of(driver), key=computed)


def ancestors(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process := parents.get(process, 0):
        yield process


@dataclass
class PlainDisplay:
    """A display without a terminal that only passes messages on."""

    notify: Callable[[str], None]
    watched = False

    def speaking(self, model: str, patch_s: float) -> None:
        pass

    def running(self, patches: dict[str, int]) -> None:
        pass


def batch_run(out: Path, log: ResultLog | None, notify: Callable[[str], None] = print) -> BatchRun:
    """Make the BatchRun that a driver needs."""
    return BatchRun(Plan(), out, ModelOptions(), cast(Display, PlainDisplay(notify)), log)
