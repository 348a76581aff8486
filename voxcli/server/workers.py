"""Several engines, each in a worker process: the least loaded takes the next task, and a dead one is replaced.

Everything here runs in the event loop's thread; answers of workers come through `call_soon`. When a worker dies, tasks
of which nothing was sent yet run again on another one, with the same seed and so the same audio; the others fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from voxcli.audio.read import Recording
from voxcli.errors import DeviceError, VoxError, as_vox_error
from voxcli.server.messages import EngineStatus, Event, Failed, Sound, Stopped, Task
from voxcli.server.worker import Loaded, Taken
from voxcli.terminal import counted
from voxcli.voices.store import Latents

POLL_S = 10.0  # of a long poll of a worker without events
MAX_TRIES = 2  # of a task: it may be what kills its workers
MAX_DEATHS = 8  # of workers, one after another without a finished task between them
NO_STATUS = EngineStatus(0, 0, 0, 0, 0, 0)


class Handle(Protocol):
    """See `voxcli.cluster.pool.WorkerHandle`."""

    def ask(self, method: str, *values: object) -> Future[Any]: ...
    def kill(self) -> None: ...


class Pool(Protocol):
    """size: number of workers."""

    size: int

    def start(self) -> Handle: ...


@dataclass(eq=False)
class _Assigned:
    """A task of a worker. began: some of its audio was handed out."""

    task: Task
    tries: int = 1
    began: bool = False


@dataclass(eq=False)
class _Worker:
    number: int
    handle: Handle
    loaded: Loaded | None = None
    status: EngineStatus = NO_STATUS
    tasks: dict[str, _Assigned] = field(default_factory=dict)


class WorkerEngines:
    """See `voxcli.server.dispatcher.Engines`.

    call_soon: runs a function in the event loop, from any thread.
    deliver:   receives events.
    notify:    receives messages for people.
    """

    def __init__(
        self,
        pool: Pool,
        call_soon: Callable[[Callable[[], None]], None],
        deliver: Callable[[list[Event]], None],
        notify: Callable[[str], None],
    ):
        self._pool = pool
        self._call_soon = call_soon
        self._deliver = deliver
        self._notify = notify
        self._workers: list[_Worker] = []
        self._waiting: list[_Assigned] = []  # tasks that no worker is there for
        self._all_loaded = asyncio.Event()
        self._deaths = 0
        self._stopped = False
        self.error: VoxError | None = None

    def start(self) -> None:
        for number in range(self._pool.size):
            self._start(number + 1)

    async def loaded(self) -> str:
        """Wait until every worker has loaded and return the name of the model. Raises the error of one that can't."""
        await self._all_loaded.wait()
        if self.error is not None:
            raise self.error
        return f"{self._first().name}, {counted(len(self._workers), 'worker')}"

    @property
    def encoder_rate(self) -> int:
        return self._first().encoder_rate

    def submit(self, task: Task) -> None:
        self._assign(_Assigned(task))

    def cancel(self, task_id: str) -> None:
        self._waiting = [assigned for assigned in self._waiting if assigned.task.id != task_id]
        if (worker := self._owner(task_id)) is not None:
            del worker.tasks[task_id]
            worker.handle.ask("cancel", task_id)

    def hold(self, task_id: str, held: bool) -> None:
        if (worker := self._owner(task_id)) is not None:
            worker.handle.ask("hold", task_id, held)

    def encode(self, recording: Recording, words: bool) -> Future[dict[str, Latents]]:
        worker = min((worker for worker in self._workers if worker.loaded), key=_load, default=None)
        if worker is None:
            raise DeviceError("no worker is there now; send it again")
        return worker.handle.ask("encode", recording, words)

    def status(self) -> EngineStatus:
        states = [worker.status for worker in self._workers if worker.loaded is not None]
        return EngineStatus(
            rows=sum(state.rows for state in states),
            rows_total=max(1, sum(state.rows_total for state in states)),
            pages=sum(state.pages for state in states),
            pages_total=sum(state.pages_total for state in states),
            waiting=sum(state.waiting for state in states) + len(self._waiting),
            steps=sum(state.steps for state in states),
        )

    def stop(self) -> None:
        self._stopped = True
        for worker in self._workers:
            worker.handle.kill()

    # -- workers --------------------------------------------------------------------------------------------------
    def _start(self, number: int) -> None:
        worker = _Worker(number, self._pool.start())
        self._workers.append(worker)
        self._ask(worker, "load", self._on_loaded)

    def _ask(self, worker: _Worker, method: str, then: Callable[[_Worker, Future[Any]], None], *values: object) -> None:
        answer = worker.handle.ask(method, *values)
        answer.add_done_callback(lambda done: self._call_soon(partial(then, worker, done)))

    def _on_loaded(self, worker: _Worker, answer: Future[Loaded]) -> None:
        error = answer.exception()
        if error is not None:
            self._end(as_vox_error(error) if isinstance(error, Exception) else VoxError(str(error)))
            return
        worker.loaded = answer.result()
        self._ask(worker, "take", self._on_taken, 0.0)
        waiting, self._waiting = self._waiting, []
        for assigned in waiting:
            self._assign(assigned)
        if all(each.loaded is not None for each in self._workers):
            self._all_loaded.set()

    def _on_taken(self, worker: _Worker, answer: Future[Taken]) -> None:
        if self._stopped or worker not in self._workers:
            return
        error = answer.exception()
        if error is not None:
            self._lose(worker, str(error))
            return
        taken = answer.result()
        worker.status = taken.status
        stopped = next((event for event in taken.events if isinstance(event, Stopped)), None)
        events: list[Event] = []
        for event in taken.events:
            if isinstance(event, Stopped) or (assigned := worker.tasks.get(event.id)) is None:
                continue
            if stopped is not None and isinstance(event, Failed):
                continue  # it failed with the engine: another one may speak it
            events.append(event)
            if isinstance(event, Sound):
                assigned.began = True
            else:
                del worker.tasks[event.id]
                self._deaths = 0
        self._deliver(events)
        if stopped is None:
            self._ask(worker, "take", self._on_taken, POLL_S)
        else:
            worker.handle.kill()
            self._lose(worker, str(stopped.error or "its engine has ended"))

    def _lose(self, worker: _Worker, why: str) -> None:
        """A worker is dead: its tasks go elsewhere or fail, and another takes its place."""
        self._workers.remove(worker)
        self._deaths += 1
        process = f" (process {worker.loaded.process})" if worker.loaded is not None else ""
        self._notify(f"worker {worker.number}{process} died: {why}; starting another")
        if self._deaths >= MAX_DEATHS:
            self._end(DeviceError(f"{MAX_DEATHS} workers died one after another, the last one: {why}"))
            return
        self._start(worker.number)
        for assigned in list(worker.tasks.values()):
            if assigned.began or assigned.tries >= MAX_TRIES:
                self._deliver([Failed(assigned.task.id, DeviceError("the worker that spoke this died; send it again"))])
            else:
                self._assign(_Assigned(assigned.task, assigned.tries + 1))

    def _end(self, error: VoxError) -> None:
        self.error = error
        tasks = [*self._waiting, *(assigned for worker in self._workers for assigned in worker.tasks.values())]
        self._deliver([*(Failed(assigned.task.id, error) for assigned in tasks), Stopped(error)])
        self.stop()
        self._all_loaded.set()

    def _assign(self, assigned: _Assigned) -> None:
        worker = min((worker for worker in self._workers if worker.loaded is not None), key=_load, default=None)
        if worker is None:
            self._waiting.append(assigned)
            return
        worker.tasks[assigned.task.id] = assigned
        worker.handle.ask("submit", assigned.task)

    def _owner(self, task_id: str) -> _Worker | None:
        return next((worker for worker in self._workers if task_id in worker.tasks), None)

    def _first(self) -> Loaded:
        return next(worker.loaded for worker in self._workers if worker.loaded is not None)


def _load(worker: _Worker) -> float:
    """Seconds of audio that a worker has been given and not finished."""
    return sum(assigned.task.utterance.expected_s for assigned in worker.tasks.values())
