from __future__ import annotations

from typing import cast

import pytest

from voxcli.cluster.messages import WorkerReady
from voxcli.cluster.pool import WorkerHandle, WorkerRecord
from voxcli.cluster.watch import LATE_S, Watch

HANG_S = 10.0
READY = WorkerReady("here", 1, 8, 0.16, "a model")


def record(name: str, *, since: float = 0.0, loaded: bool = True, moved: float = 0.0) -> WorkerRecord:
    return WorkerRecord(name, cast(WorkerHandle, None), since, ready=READY if loaded else None, moved=moved)


def watched(*records: WorkerRecord, now: float = 0.0) -> Watch:
    return Watch({each.name: each for each in records}, HANG_S, now)


def looks(watch: Watch, *times: float) -> list[tuple[list[str], list[str]]]:
    return [([w.name for w in late], [w.name for w in hung]) for late, hung in map(watch.look, times)]


def test_one_that_does_not_load_is_late_once() -> None:
    worker = record("1", since=5.0, loaded=False)
    assert looks(watched(worker, record("2", moved=100.0)), 33.9, 5.0 + LATE_S, 36.1, 60.0) == [
        ([], []),
        ([], []),
        (["1"], []),
        ([], []),
    ]
    assert worker.late


def test_one_in_which_nothing_moves_hangs() -> None:
    moving, still = record("moving"), record("still")
    watch = watched(moving, still)
    for now in range(2, 11, 2):
        moving.moved = now
        assert watch.look(now) == ([], [])
    assert watch.look(11.5) == ([], [still])
    assert looks(watch, 13.0) == [([], ["still"])], "until it is replaced"


def test_nobody_hangs_before_it_has_loaded() -> None:
    assert looks(watched(record("1", loaded=False)), *range(2, 20, 2)) == [([], [])] * 9


@pytest.mark.parametrize("pause", [3.0, 20.0, 3600.0])
def test_while_nobody_looked_nobody_hung(pause: float) -> None:
    """As when the command is stopped for a while (Ctrl-Z), and its workers are not."""
    worker = record("1")
    watch = watched(worker)
    assert looks(watch, 1.5, 3.0) == [([], [])] * 2
    woken = 3.0 + pause
    assert looks(watch, woken) == [([], [])]
    assert worker.moved == pause - 2.0
    assert looks(watch, woken + 2.0, woken + 4.0, woken + 6.0) == [([], []), ([], []), ([], ["1"])]


def test_it_looks_at_most_once_a_second() -> None:
    worker = record("1")
    assert looks(watched(worker, now=10.5), 11.4, 11.5, 11.6) == [([], []), ([], []), ([], ["1"])]


def test_workers_that_come_and_go_are_seen() -> None:
    records = {"1": record("1")}
    watch = Watch(records, HANG_S, 0.0)
    records["1"] = record("1", moved=8.0)
    records["2"] = record("2", since=8.0, loaded=False)
    assert looks(watch, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0) == [([], [])] * 6
