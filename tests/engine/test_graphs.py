"""Bucket choice, padding, and what a failed capture leaves. Captures themselves need a GPU: tests/gpu."""

from __future__ import annotations

import pytest
import torch

from voxcli.engine.graphs import BUCKETS, StepGraphs, bucket_for, pad


@pytest.mark.parametrize(
    ("rows", "largest", "bucket"),
    [(1, 256, 1), (3, 256, 4), (9, 256, 16), (17, 256, 24), (65, 128, 96), (256, 256, 256), (5, 6, 6), (300, 300, 300)],
)
def test_the_smallest_bucket_that_fits(rows: int, largest: int, bucket: int) -> None:
    assert bucket_for(rows, largest) == bucket


def test_every_fill_has_a_bucket() -> None:
    for largest in (*BUCKETS, 5, 100):
        for rows in range(1, largest + 1):
            assert rows <= bucket_for(rows, largest) <= largest
    with pytest.raises(AssertionError, match="7 rows, the largest bucket is 6"):
        bucket_for(7, 6)


def test_padding_is_row_0() -> None:
    assert pad([3, 1], 4).tolist() == [3, 1, 0, 0]


def test_a_capture_that_fails_falls_back_to_eager_with_one_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    ran: list[tuple[list[int], int]] = []

    def step(rows: torch.Tensor, solver_steps: int) -> torch.Tensor:
        ran.append((rows.tolist(), solver_steps))
        return torch.arange(len(rows), dtype=torch.uint8)

    def no_stream(*_: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing\ndetails")

    monkeypatch.setattr(torch.cuda, "Stream", no_stream)
    graphs = StepGraphs(step, 4, torch.device("cpu"), said.append)
    for _ in range(3):
        assert graphs([2, 1, 3], 10).tolist() == [0, 1, 2]
    assert ran == [([2, 1, 3, 0], 10)] * 3
    assert said == [
        "no CUDA graph for 4 requests at once, running them step by step: "
        "operation not permitted when stream is capturing"
    ]
