"""A worker's queues, and how a real engine treats a feed that has nothing at the moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from voxcli.cluster.queues import ResultQueue, WorkQueue
from voxcli.engine.engine import Engine
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.engine.request import NOT_YET, NotYet, Request, Sampling
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result
from voxcli.model.prompt import build_prompt


def utterance(name: str) -> Utterance:
    return Utterance(Job(name, "Hello.", Path(f"{name}.wav")), (), "", 1.0)


def result(name: str, status: str = "ok") -> Result:
    return Result(name, f"{name}.wav", "Hello.", status)  # type: ignore[arg-type]


def test_lines_go_in_order_and_the_last_ones_come_back() -> None:
    work = WorkQueue()
    work.put([utterance(name) for name in "abcd"])
    first = work.next()
    assert first is not None and first.job.id == "a"
    assert work.give_back(2) == ["d", "c"]
    assert work.give_back(9) == ["b"]
    assert work.give_back(1) == [] and work.next() is None
    work.put([utterance("e")])
    assert work.wait()
    work.close()
    assert not work.wait() and work.next() is None, "after close nothing begins"


def test_a_sent_call_runs_in_the_thread_that_speaks_waiting_or_not() -> None:
    work, done = WorkQueue(), []
    speaking = threading.Thread(target=work.wait)
    speaking.start()
    work.send(lambda: done.append(threading.current_thread()))
    deadline = time.monotonic() + 10
    while not done and time.monotonic() < deadline:
        time.sleep(0.01)
    assert done == [speaking]
    work.put([utterance("a")])
    speaking.join(10)
    assert not speaking.is_alive()
    work.send(lambda: done.append(threading.current_thread()))
    assert work.next() is not None and done[1] is threading.current_thread()


def test_results_wait_until_they_are_asked_for_and_no_more_bytes_than_allowed() -> None:
    results = ResultQueue(limit=10, content=lambda result: b"12345678")
    results.append(result("a"))
    results.append(result("b"))  # 8 bytes are held: there is room
    third = threading.Thread(target=results.append, args=(result("c"),))
    third.start()
    third.join(0.1)
    assert third.is_alive(), "16 bytes are held: it waits"
    assert [landed.result.id for landed in results.take(0.0, 0.0, 12)] == ["a"], "two would be 16 bytes"
    third.join(10)
    assert not third.is_alive()
    assert [landed.content for landed in results.take(0.0, 0.0, 99)] == [b"12345678"] * 2
    results.append(result("d", "failed"))
    assert [landed.content for landed in results.take(0.0, 0.0, 1)] == [None], "a failed line has no file"
    assert results.take(0.01, 0.0, 1) == []


def test_one_that_waits_is_woken_when_the_session_has_ended() -> None:
    results = ResultQueue(limit=1)
    waited: list[object] = []
    waiting = threading.Thread(target=lambda: waited.append(results.take(60.0, 60.0, 1)))
    waiting.start()
    results.wake()
    waiting.join(10)
    assert waited == [[]]


@pytest.fixture(scope="module")
def engine(tiny_checkpoint: Path) -> Engine:
    return load_engine(ModelOptions(model=str(tiny_checkpoint), device="cpu", max_batch=4), print).engine


def request(engine: Engine, n: int) -> Request:
    model = engine.model
    prompt = build_prompt(model.tokenizer, f"hello {n}", patch_shape=model.patch_shape)
    return Request(f"{n}", prompt, Sampling(seed=n, steps=2, max_len=6), decode=False)  # a clip comes as it ends


def test_a_feed_is_asked_again_after_each_step_and_little_ahead(engine: Engine) -> None:
    """At most 8 of 12 requests have been pulled when the first clip is done; a NOT_YET delays the feed by a step."""
    pulled: list[int] = []

    def feed() -> Iterator[Request | NotYet]:
        for n in range(12):
            if n % 3 == 2:
                yield NOT_YET
            pulled.append(n)
            assert len(engine.scheduler) < 4 + 2
            yield request(engine, n)

    clips = engine.generate(feed(), ahead=2)
    first = next(clips)
    assert len(pulled) <= 8
    assert {first.request_id, *(clip.request_id for clip in clips)} == {f"{n}" for n in range(12)}
    engine.check_integrity()


def test_a_feed_with_nothing_now_ends_the_round_when_there_is_nothing_to_step(engine: Engine) -> None:
    def feed() -> Iterator[Request | NotYet]:
        yield request(engine, 1)
        while True:
            yield NOT_YET

    assert [clip.request_id for clip in engine.generate(feed(), ahead=1)] == ["1"]
    assert [clip.request_id for clip in engine.generate(feed())] == ["1"]
