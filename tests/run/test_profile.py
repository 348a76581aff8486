from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from voxcli.run import profile as module
from voxcli.run.profile import StageTimer


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module.time, "perf_counter", clock)
    monkeypatch.setattr(module.time, "thread_time", clock)
    return clock


def test_a_stage_inside_another_counts_for_itself(clock: Clock) -> None:
    timer = StageTimer()
    with timer("outer"):
        clock.now += 1
        for _ in range(2):
            with timer("inner"):
                clock.now += 10
        with timer("outer"):
            clock.now += 100
    clock.now += 1000
    with timer("inner"):
        clock.now += 5
    assert timer.seconds == {"outer": 101, "inner": 25}


def test_the_making_of_items_counts_and_not_what_is_done_with_them(clock: Clock) -> None:
    def make() -> Iterator[int]:
        for number in range(3):
            clock.now += 1
            with timer("part"):
                clock.now += 7
            yield number
        clock.now += 1

    timer = StageTimer()
    for _ in timer.each("model", make()):
        clock.now += 100
    assert timer.seconds == {"model": 4, "part": 21}


def test_entering_and_leaving_a_block_counts_and_not_what_is_in_it(clock: Clock) -> None:
    left = []

    class Block:
        def __enter__(self) -> str:
            clock.now += 1
            return "entered"

        def __exit__(self, kind: object, *exception: object) -> bool:
            clock.now += 2
            left.append(kind)
            return True

    timer = StageTimer()
    for _ in range(2):
        with timer.around("part", Block()) as entered:
            clock.now += 100
            assert entered == "entered"
            raise KeyError("the block swallows it")
    assert timer.seconds == {"part": 6}
    assert left == [KeyError, KeyError]


def test_an_error_ends_its_stage(clock: Clock) -> None:
    timer = StageTimer()
    with timer("outer"):
        with pytest.raises(ZeroDivisionError), timer("inner"):
            clock.now += 1
            raise ZeroDivisionError
        clock.now += 1
    assert timer.seconds == {"outer": 1, "inner": 1}


def test_leaving_early_closes_what_makes_the_items() -> None:
    closed = []

    def make() -> Iterator[int]:
        try:
            yield from range(3)
        finally:
            closed.append(True)

    items = StageTimer().each("model", make())
    next(items)
    items.close()  # type: ignore[attr-defined]
    del items
    assert closed


def test_shares_are_of_the_wall_time_and_other_threads_count_as_not_the_model(clock: Clock) -> None:
    timer = StageTimer()

    def write() -> None:
        with timer("files"):
            clock.now += 2

    with timer("model"):
        clock.now += 90
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    clock.now += 8
    assert timer.lines() == [
        "model                   90.00 s  90.00%",
        "other                   10.00 s  10.00%",
        "files (in parallel)      2.00 s   2.00%",
        "without the model       12.00 s  12.00% of 100.0 s",
    ]
