from __future__ import annotations

import pytest

from voxcli.cluster.placement import VARIABLE, Placement, place_workers
from voxcli.errors import DeviceError, InputError


@pytest.fixture(autouse=True)
def no_thread_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("count", "device", "nodes", "alone", "found"),
    [
        (None, "auto", [(2, 0)], True, Placement(1, 0, 0, 2, "auto")),
        (None, "auto", [(16, 0)], True, Placement(4, 0, 0, 4, "auto")),
        (2, "auto", [(2, 0)], True, Placement(2, 0, 0, 1, "auto")),
        (8, "cpu", [(2, 0)], True, Placement(8, 0, 0, 1, "cpu")),  # this machine's cores may be given out twice
        (None, "auto", [(16, 8), (16, 8)], False, Placement(16, 0, 1, 2, "cuda")),
        (3, "cuda", [(16, 8)], True, Placement(3, 0, 1, 2, "cuda")),
        (None, "cpu", [(16, 8), (6, 0)], False, Placement(5, 4, 0, 4, "cpu")),
        (None, "auto", [(2, 0), (3, 0)], False, Placement(1, 3, 0, 3, "cpu")),  # no machine has room for four threads
        (5, "auto", [(8, 0), (8, 0)], False, Placement(5, 2, 0, 2, "cpu")),  # three each: room for only four of them
    ],
)
def test_what_each_worker_gets(
    count: int | None, device: str, nodes: list[tuple[int, int]], alone: bool, found: Placement
) -> None:
    assert place_workers(count, device, nodes, alone=alone) == found


def test_the_environment_sets_the_threads_of_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert place_workers(None, "auto", [(4, 0)], alone=True) == Placement(4, 0, 0, 1, "auto")
    assert place_workers(1, "auto", [(4, 0)], alone=True) == Placement(1, 0, 0, 1, "auto")


@pytest.mark.parametrize(
    ("count", "device", "nodes", "kind", "message"),
    [
        (3, "auto", [(16, 2)], InputError, r"--workers 3 exceeds the number of GPUs \(2\)"),
        (5, "cpu", [(2, 0), (2, 0)], InputError, "cores have room for 4 workers with 1 thread each, not 5"),
        (1, "cuda:1", [(16, 2)], DeviceError, "names one GPU"),
        (1, "cuda", [(16, 0)], DeviceError, "Ray finds no GPU here"),
    ],
)
def test_what_there_is_no_room_for(
    count: int, device: str, nodes: list[tuple[int, int]], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        place_workers(count, device, nodes, alone=False)


def test_it_prints_workers_and_threads() -> None:
    assert str(Placement(1, 0, 0, 2, "cpu")) == "1 worker with 2 threads"
    assert str(Placement(8, 0, 1, 2, "cuda")) == "8 workers with one GPU each"
