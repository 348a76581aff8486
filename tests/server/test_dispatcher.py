"""Admission and delivery, with engines that do nothing by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voxcli.errors import DeviceError, SynthesisError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance, prepare
from voxcli.jobs.result import Result
from voxcli.jobs.settings import Settings
from voxcli.server.dispatcher import AT_ONCE, HOLD, RELEASE, Dispatcher, Speech
from voxcli.server.errors import ApiError
from voxcli.server.messages import Done, EngineStatus, Failed, Sound, Stopped, Task
from voxcli.server.metrics import Metrics

RATE = 1000


class Engines:
    def __init__(self, rows: int = 1):
        self.rows = rows
        self.tasks: list[Task] = []
        self.cancelled: list[str] = []
        self.held: list[tuple[str, bool]] = []

    def submit(self, task: Task) -> None:
        self.tasks.append(task)

    def cancel(self, task_id: str) -> None:
        self.cancelled.append(task_id)

    def hold(self, task_id: str, held: bool) -> None:
        self.held.append((task_id, held))

    def status(self) -> EngineStatus:
        return EngineStatus(0, self.rows, 0, 1, 0, 0)


def utterance(text: str = "Hello.", **settings: Any) -> Utterance:
    return prepare(Job("a", text, Path("a"), settings=Settings(**settings)))


def done(task_id: str) -> Done:
    return Done(task_id, Result("a", "", "Hello.", "ok", duration_s=2.0), b"file")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_a_request_is_submitted_delivered_and_forgotten() -> None:
    async def test() -> None:
        engines = Engines()
        dispatcher = Dispatcher(engines, Metrics(), 0)
        async with dispatcher.speech(utterance(seed=5), "wav", stream=False) as speech:
            assert [task.id for task in engines.tasks] == [speech.task.id]
            assert speech.seed == 5 and dispatcher.open == 1
            dispatcher.deliver([done(speech.task.id), done("another")])
            assert (await speech.done()).content == b"file"
        assert dispatcher.open == 0 and engines.cancelled == []
        assert dispatcher.metrics.audio_s == 2.0 and dispatcher.metrics.cancelled == 0

    run(test())


def test_a_seed_is_drawn_before_the_engine_sees_the_request() -> None:
    async def test() -> None:
        engines = Engines(rows=2)
        dispatcher = Dispatcher(engines, Metrics(), 0)
        async with (
            dispatcher.speech(utterance(), "wav", stream=False) as one,
            dispatcher.speech(utterance(), "wav", stream=False) as other,
        ):
            assert one.seed == engines.tasks[0].utterance.seed != other.seed

    run(test())


def test_beyond_the_queue_there_is_429_with_a_time_to_wait() -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(rows=1), Metrics(), 1)
        async with dispatcher.speech(utterance(), "wav", stream=False):
            dispatcher.check()
            async with dispatcher.speech(utterance(), "wav", stream=False):
                with pytest.raises(ApiError, match=r"^1 requests are waiting already; try again later$") as caught:
                    dispatcher.check()
                assert caught.value.status == 429 and int(caught.value.headers["retry-after"]) >= 1
                with pytest.raises(ApiError):
                    async with dispatcher.speech(utterance(), "wav", stream=False):
                        raise AssertionError("it was admitted")
        dispatcher.check()

    run(test())


def test_one_that_may_wait_is_admitted_as_soon_as_there_is_a_place() -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(rows=1), Metrics(), 0)
        order: list[str] = []

        async def second() -> None:
            async with dispatcher.speech(utterance(), "wav", stream=False, wait=True):
                order.append("second")

        async with dispatcher.speech(utterance(), "wav", stream=False):
            waiting = asyncio.create_task(second())
            await asyncio.sleep(0)
            order.append("first")
        await waiting
        assert order == ["first", "second"]

    run(test())


def test_hours_of_audio_are_too_much_however_few_requests_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(rows=9), Metrics(), 9)
        long = utterance("A long text. " * 30)
        monkeypatch.setattr("voxcli.server.dispatcher.MAX_AUDIO_S", 1.5 * long.expected_s)
        async with dispatcher.speech(long, "wav", stream=False):
            dispatcher.check(utterance())
            with pytest.raises(ApiError):
                dispatcher.check(long)
        dispatcher.check(long)

    run(test())


def test_a_request_that_is_left_is_cancelled() -> None:
    async def test() -> None:
        engines = Engines()
        dispatcher = Dispatcher(engines, Metrics(), 0)

        async def request() -> None:
            async with dispatcher.speech(utterance(), "wav", stream=True) as speech:
                await speech.next()

        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engines.cancelled == [engines.tasks[0].id]
        assert dispatcher.open == 0 and dispatcher.metrics.cancelled == 1

    run(test())


def test_an_error_of_the_engine_is_raised_and_nothing_is_cancelled() -> None:
    async def test() -> None:
        engines = Engines()
        dispatcher = Dispatcher(engines, Metrics(), 0)
        with pytest.raises(SynthesisError, match="no patch"):
            async with dispatcher.speech(utterance(), "wav", stream=True) as speech:
                dispatcher.deliver([Failed(speech.task.id, SynthesisError("no patch"))])
                await speech.next()
        assert engines.cancelled == [] and dispatcher.open == 0

    run(test())


def test_sounds_that_have_waited_together_are_sent_together() -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(), Metrics(), 0)
        async with dispatcher.speech(utterance(), "pcm", stream=True) as speech:
            blocks = [np.full(AT_ONCE // 16, value, np.float32) for value in range(6)]  # a quarter of AT_ONCE each
            sounds = [Sound(speech.task.id, block, RATE) for block in blocks]
            dispatcher.deliver([*sounds, done(speech.task.id)])
            for expected in (blocks[:4], blocks[4:]):
                event = await speech.next()
                assert isinstance(event, Sound) and np.array_equal(event.samples, np.concatenate(expected))
            assert isinstance(await speech.next(), Done)

    run(test())


def test_a_slow_reader_holds_its_own_stream_only() -> None:
    async def test() -> None:
        engines = Engines(rows=2)
        dispatcher = Dispatcher(engines, Metrics(), 0)
        async with (
            dispatcher.speech(utterance(), "pcm", stream=True) as slow,
            dispatcher.speech(utterance(), "pcm", stream=True) as other,
        ):
            block = np.zeros(RELEASE // 4, np.float32)  # of RELEASE bytes
            for _ in range(HOLD // RELEASE):
                dispatcher.deliver([Sound(slow.task.id, block, RATE), Sound(other.task.id, block, RATE)])
                await other.next()
            assert engines.held == []
            dispatcher.deliver([Sound(slow.task.id, block, RATE)])
            assert engines.held == [(slow.task.id, True)]
            for _ in range(HOLD // RELEASE):
                await slow.next()
            assert engines.held == [(slow.task.id, True)], "it still has as much as RELEASE to read"
            await slow.next()
            assert engines.held == [(slow.task.id, True), (slow.task.id, False)]

    run(test())


def test_audio_that_comes_too_late_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 1.5, 3.5, 9.0])
    monkeypatch.setattr("voxcli.server.dispatcher.time.perf_counter", lambda: next(clock))
    metrics = Metrics()
    speech = Speech(Task("1", utterance(), True, "pcm"), metrics, lambda held: None)
    second = np.zeros(RATE, np.float32)
    for _ in range(2):  # at 1.0 and 1.5: played until 3.0
        speech.put(Sound("1", second, RATE))
    assert metrics.underruns == 0
    speech.put(Sound("1", second, RATE))  # at 3.5: played until 4.5
    assert metrics.underruns == 1
    speech.put(Sound("1", second, RATE))
    assert metrics.underruns == 2
    assert 'first_bucket{le="1.2"} 1' in list(metrics.first_audio.lines("first"))


def test_while_it_drains_nothing_new_is_admitted_and_what_runs_ends() -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(), Metrics(), 5)
        async with dispatcher.speech(utterance(), "wav", stream=False) as speech:
            dispatcher.draining = True
            drained = asyncio.create_task(dispatcher.drained())
            with pytest.raises(ApiError, match="the server is stopping") as caught:
                dispatcher.check()
            assert caught.value.status == 503 and not dispatcher.ready
            await asyncio.sleep(0)
            assert not drained.done()
            dispatcher.deliver([done(speech.task.id)])
            await speech.done()
        await drained

    run(test())


def test_without_an_engine_requests_are_refused_with_its_reason() -> None:
    async def test() -> None:
        dispatcher = Dispatcher(Engines(), Metrics(), 5)
        dispatcher.deliver([Stopped(DeviceError("cuda no longer works"))])
        with pytest.raises(ApiError, match="the engine has ended: cuda no longer works") as caught:
            dispatcher.check()
        assert caught.value.status == 503 and not dispatcher.ready

    run(test())
