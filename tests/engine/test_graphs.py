"""Choice of buckets, padding and failed captures. Tests of real captures need a GPU and are in tests/gpu."""

from __future__ import annotations

import pytest
import torch

from voxcli.engine.graphs import BUCKETS, Captured, Capturer, PrefillGraphs, StepGraphs, bucket_for, pad
from voxcli.engine.prefill import Size
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import Hidden

EULER = Solver("euler", 10)


@pytest.mark.parametrize(
    ("rows", "largest", "bucket"),
    [(1, 256, 1), (3, 256, 4), (9, 256, 16), (17, 256, 24), (65, 128, 96), (256, 256, 256), (5, 6, 6), (300, 300, 300)],
)
def test_the_smallest_sufficient_bucket_is_chosen(rows: int, largest: int, bucket: int) -> None:
    assert bucket_for(rows, largest) == bucket


def test_every_number_of_rows_has_a_bucket() -> None:
    for largest in (*BUCKETS, 5, 100):
        for rows in range(1, largest + 1):
            assert rows <= bucket_for(rows, largest) <= largest
    with pytest.raises(AssertionError, match="7 rows, the largest bucket is 6"):
        bucket_for(7, 6)


def test_buckets_are_padded_with_row_0() -> None:
    assert pad([3, 1], 4).tolist() == [3, 1, 0, 0]


def test_after_a_failed_capture_steps_are_eager_and_one_message_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    ran: list[tuple[list[int], Solver]] = []

    def step(rows: torch.Tensor, solver: Solver) -> torch.Tensor:
        ran.append((rows.tolist(), solver))
        return torch.arange(len(rows), dtype=torch.uint8)

    def fails(*_: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\ndetails")

    monkeypatch.setattr(torch.cuda, "Stream", fails)
    graphs = StepGraphs(step, 4, Capturer(torch.device("cpu"), messages.append))
    for _ in range(3):
        assert graphs([2, 1, 3], EULER).tolist() == [0, 1, 2]
    assert ran == [([2, 1, 3, 0], EULER)] * 3
    assert messages == [
        "no CUDA graph for 4 requests at once, running them step by step: "
        "operation not permitted when stream is capturing"
    ]


class Graph:
    def replay(self) -> None:
        pass


def test_a_larger_graph_is_used_until_its_padding_has_cost_as_much_as_a_capture() -> None:
    captured: list[int] = []
    ran: list[int] = []

    class Recorder(Capturer):
        def capture(self, work, inputs, what, instead):  # type: ignore[no-untyped-def]
            captured.append(len(inputs[0]))
            return Captured(Graph(), inputs, work(*inputs))  # type: ignore[arg-type]

    def step(rows: torch.Tensor, solver: Solver) -> torch.Tensor:
        ran.append(len(rows))
        return torch.zeros(len(rows), dtype=torch.uint8)

    graphs = StepGraphs(step, 256, Recorder(torch.device("cpu"), print))
    assert len(graphs(list(range(1, 61)), EULER)) == 60 and captured == [64]
    for _ in range(12):  # 63 padding rows each time
        assert len(graphs([5], EULER)) == 1
    assert captured == [64]
    graphs([5], EULER)
    assert captured == [64, 1]
    graphs([5, 7], EULER)
    graphs([5, 7], Solver("euler", 4))
    assert captured == [64, 1, 2], "there is no graph for these solver steps yet"
    graphs([5], Solver("ab2", 10))
    assert captured == [64, 1, 2, 1], "nor for this solver"
    graphs(list(range(1, 100)), EULER)
    assert captured == [64, 1, 2, 1, 128] == ran
    graphs.clear()
    graphs([5], EULER)
    assert captured[-1] == 1


def test_a_prefill_is_captured_when_its_size_occurs_again() -> None:
    captured: list[tuple[int, ...]] = []

    class Recorder(Capturer):
        def capture(self, work, inputs, what, instead):  # type: ignore[no-untyped-def]
            captured.append(tuple(len(tensor) for tensor in inputs))
            return Captured(Graph(), inputs, work(*inputs))  # type: ignore[arg-type]

    def prefill(size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Hidden:
        return Hidden(layout.new_zeros(size.rows, 2, 1), layout > 0)

    graphs = PrefillGraphs(prefill, Recorder(torch.device("cpu"), print))
    small, large = Size(64, 8, 8, 0, 64, 128), Size(128, 16, 16, 128, 128, 128)

    def run(size: Size) -> bool:
        return graphs(size, torch.arange(size.layout_length), torch.zeros(size.patches, 2, 2)) is not None

    assert [run(size) for size in (small, large, small, small, large)] == [False, False, True, True, True]
    assert captured == [(small.layout_length, 0), (large.layout_length, 128)]
    hidden = graphs(small, torch.zeros(small.layout_length, dtype=torch.int64), torch.zeros(0, 2, 2))
    assert hidden is not None
    graphs.clear()
    assert run(small) and len(captured) == 3
