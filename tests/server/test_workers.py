"""Several engines: who gets a task, and what becomes of it when its worker dies. These workers do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voxcli.cluster.pool import WorkerDied
from voxcli.errors import DeviceError, ModelError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import prepare
from voxcli.jobs.result import Result
from voxcli.server import workers as workers_module
from voxcli.server.messages import Done, EngineStatus, Event, Failed, Sound, Stopped, Task
from voxcli.server.worker import Loaded, Taken
from voxcli.server.workers import WorkerEngines
from voxcli.terminal import counted

STATUS = EngineStatus(1, 8, 2, 100, 0, 5)


class Worker:
    """Answers are given by the test."""

    def __init__(self, number: int):
        self.number = number
        self.calls: list[tuple[Any, ...]] = []
        self.killed = False
        self.loading: Future[Loaded] = Future()
        self.polls: list[Future[Taken]] = []

    def ask(self, method: str, *values: object) -> Future[Any]:
        self.calls.append((method, *values))
        if method == "load":
            return self.loading
        answer: Future[Any] = Future()
        if method == "take":
            self.polls.append(answer)
        else:
            answer.set_result(None)
        return answer

    def kill(self) -> None:
        self.killed = True

    @property
    def tasks(self) -> list[str]:
        return [call[1].id for call in self.calls if call[0] == "submit"]

    def load(self) -> None:
        self.loading.set_result(Loaded("a model", 16_000, 100 + self.number))

    def gives(self, *events: Event) -> None:
        self.polls[-1].set_result(Taken(events, STATUS))

    def dies(self) -> None:
        self.polls[-1].set_exception(WorkerDied("its process ended"))


class Pool:
    def __init__(self, size: int):
        self.size = size
        self.workers: list[Worker] = []

    def start(self) -> Worker:
        self.workers.append(Worker(len(self.workers) + 1))
        return self.workers[-1]


class Setup:
    def __init__(self, size: int = 2):
        self.pool = Pool(size)
        self.events: list[Event] = []
        self.notes: list[str] = []
        self.engines = WorkerEngines(
            self.pool, asyncio.get_running_loop().call_soon, self.events.extend, self.notes.append
        )
        self.engines.start()

    async def loaded(self) -> Setup:
        for worker in self.pool.workers:
            worker.load()
        assert await self.engines.loaded() == f"a model, {counted(self.pool.size, 'worker')}"
        return self


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def task(name: str, words: int = 1) -> Task:
    return Task(name, prepare(Job(name, "Hello there. " * words, Path("a"))), False, "wav")


def done(name: str) -> Done:
    return Done(name, Result(name, "", "Hello.", "ok"), b"")


def sound(name: str) -> Sound:
    return Sound(name, np.zeros(3, np.float32), 1000)


def test_the_least_loaded_worker_gets_the_next_task() -> None:
    async def test() -> None:
        setup = await Setup().loaded()
        one, two = setup.pool.workers
        for name, words in (("long", 9), ("a", 2), ("b", 2), ("c", 2)):
            setup.engines.submit(task(name, words))
        assert (one.tasks, two.tasks) == (["long"], ["a", "b", "c"])
        one.gives(done("long"))
        await settle()
        setup.engines.submit(task("d"))
        assert one.tasks == ["long", "d"]
        assert [event.id for event in setup.events if isinstance(event, Done)] == ["long"]
        status = setup.engines.status()
        assert (status.rows, status.rows_total, status.pages_total) == (1, 8, 100)

    run(test())


def test_calls_go_to_the_worker_of_a_task() -> None:
    async def test() -> None:
        setup = await Setup().loaded()
        two = setup.pool.workers[1]
        setup.engines.submit(task("a"))
        setup.engines.submit(task("b"))
        setup.engines.hold("b", True)
        setup.engines.cancel("b")
        setup.engines.cancel("unknown")
        assert two.calls[-2:] == [("hold", "b", True), ("cancel", "b")]
        two.gives(done("b"))
        await settle()
        assert setup.events == [], "it was cancelled"

    run(test())


def test_a_task_waits_until_a_worker_has_loaded() -> None:
    async def test() -> None:
        setup = Setup()
        setup.engines.submit(task("a"))
        setup.engines.submit(task("b"))
        setup.engines.cancel("b")
        assert setup.engines.status().waiting == 1
        setup.pool.workers[1].load()
        await settle()
        assert setup.pool.workers[1].tasks == ["a"]

    run(test())


def test_when_a_worker_dies_what_was_not_begun_runs_elsewhere_and_the_rest_fails() -> None:
    async def test() -> None:
        setup = await Setup().loaded()
        one, two = setup.pool.workers
        for name in ("begun", "x", "fresh", "y"):
            setup.engines.submit(task(name))
        assert one.tasks == ["begun", "fresh"]
        one.gives(sound("begun"))
        await settle()
        one.dies()
        await settle()
        assert two.tasks == ["x", "y", "fresh"]
        (failed,) = [event for event in setup.events if isinstance(event, Failed)]
        assert failed.id == "begun" and isinstance(failed.error, DeviceError)
        assert str(failed.error) == "the worker that spoke this died; send it again"
        assert setup.notes == ["worker 1 (process 101) died: its process ended; starting another"]
        three = setup.pool.workers[2]
        three.load()
        await settle()
        setup.engines.submit(task("next"))
        assert three.tasks == ["next"]

    run(test())


def test_a_task_that_kills_its_workers_fails_after_the_second() -> None:
    async def test() -> None:
        setup = await Setup().loaded()
        setup.engines.submit(task("deadly"))
        setup.pool.workers[0].dies()
        await settle()
        assert setup.pool.workers[1].tasks == ["deadly"]
        setup.pool.workers[1].dies()
        await settle()
        (failed,) = setup.events
        assert isinstance(failed, Failed) and failed.id == "deadly"
        assert [worker.tasks for worker in setup.pool.workers[2:]] == [[], []]

    run(test())


def test_an_engine_that_ends_takes_its_worker_with_it_and_its_tasks_run_elsewhere() -> None:
    async def test() -> None:
        setup = await Setup().loaded()
        one, two = setup.pool.workers
        setup.engines.submit(task("a"))
        one.gives(Failed("a", DeviceError("cuda no longer works")), Stopped(DeviceError("cuda no longer works")))
        await settle()
        assert one.killed and "cuda no longer works" in setup.notes[0]
        assert setup.events == [] and two.tasks == ["a"]

    run(test())


def test_one_death_after_another_ends_the_server() -> None:
    async def test() -> None:
        setup = await Setup(1).loaded()
        for _ in range(workers_module.MAX_DEATHS):
            setup.pool.workers[-1].dies()
            await settle()
            if not setup.pool.workers[-1].loading.done():
                setup.pool.workers[-1].load()
            await settle()
        assert isinstance(setup.events[-1], Stopped) and "died one after another" in str(setup.events[-1].error)

    run(test())


def test_a_model_that_can_not_be_loaded_is_reported() -> None:
    async def test() -> None:
        setup = Setup()
        setup.pool.workers[0].loading.set_exception(ModelError("no model here"))
        with pytest.raises(ModelError, match="no model here"):
            await setup.engines.loaded()
        assert all(worker.killed for worker in setup.pool.workers)

    run(test())
