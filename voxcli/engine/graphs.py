"""Whole steps as CUDA graphs, one for each (bucket, solver steps).

A graph reads its rows from a static tensor and everything else from the state table, so a replay is: fill the rows,
replay, read the flags. Graphs are captured when first wanted, for each number of solver steps the largest bucket
first, so that all of them fit the memory of that one. A capture that fails leaves its bucket to eager steps for good,
with one remark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from voxcli.engine.transfer import upload

BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
PADDING_ROW = 0

Step = Callable[[torch.Tensor, int], torch.Tensor]  # rows int64[bucket], solver steps -> flags uint8[bucket]


def bucket_for(rows: int, largest: int) -> int:
    """The smallest bucket that holds `rows`; `largest` is one whatever it is."""
    assert 1 <= rows <= largest, f"{rows} rows, the largest bucket is {largest}"
    return next((bucket for bucket in BUCKETS if rows <= bucket <= largest), largest)


def pad(rows: list[int], bucket: int) -> torch.Tensor:
    """int64[bucket], filled up with the padding row."""
    return torch.tensor(rows + [PADDING_ROW] * (bucket - len(rows)))


@dataclass(frozen=True, eq=False)
class _Captured:
    graph: torch.cuda.CUDAGraph
    rows: torch.Tensor
    flags: torch.Tensor


class StepGraphs:
    def __init__(self, step: Step, largest: int, device: torch.device, say: Callable[[str], None]):
        """step: runs eagerly and depends on nothing but its rows and what lies in the state table."""
        self._step, self.largest, self._device, self._say = step, largest, device, say
        self._captured: dict[tuple[int, int], _Captured | None] = {}
        self._pool: Any = None  # a handle of torch's, shared by all graphs

    def __call__(self, rows: list[int], solver_steps: int) -> torch.Tensor:
        """Queue one step of `rows`; their flags, uint8[len(rows)], on the device."""
        bucket = bucket_for(len(rows), self.largest)
        on_device = upload(pad(rows, bucket), self._device)
        for wanted in (self.largest, bucket):
            if (wanted, solver_steps) not in self._captured:
                self._captured[wanted, solver_steps] = self._capture(wanted, solver_steps)
        captured = self._captured[bucket, solver_steps]
        if captured is None:
            return self._step(on_device, solver_steps)[: len(rows)]
        captured.rows.copy_(on_device)
        captured.graph.replay()
        # The next replay overwrites the static flags, maybe before these have been read.
        return captured.flags[: len(rows)].clone()

    def forget(self) -> None:
        """Drop all graphs and their memory."""
        self._captured.clear()
        self._pool = None

    def _capture(self, bucket: int, solver_steps: int) -> _Captured | None:
        """Captured on padding rows alone: a warm-up must not move anybody."""
        rows = torch.zeros(bucket, dtype=torch.int64, device=self._device)
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):  # kernels are compiled and libraries set up outside the capture
                    self._step(rows, solver_steps)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self._pool):
                flags = self._step(rows, solver_steps)
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[0]
            self._say(f"no CUDA graph for {bucket} requests at once, running them step by step: {reason}")
            return None
        self._pool = self._pool or graph.pool()
        return _Captured(graph, rows, flags)
