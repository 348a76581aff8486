"""Captures whole steps and whole prefills as CUDA graphs. Launched one by one, their kernels would wait for the CPU.

A graph reads its input from static tensors and everything else from the cache and the state table. A replay fills the
input, replays the graph and reads the output. Graphs are captured lazily. If a capture fails, calls of that shape stay
eager, and one message reports it.
"""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from voxcli.engine.prefill import Size
from voxcli.engine.transfer import upload, upload_into
from voxcli.errors import reason_of
from voxcli.memory import is_out_of_memory
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import Hidden
from voxcli.terminal import counted

BUCKETS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
PADDING_ROW = 0
CAPTURE_COST_ROWS = 800  # padding rows that take about as long as one capture (0.15 s on an H200)

Step = Callable[[torch.Tensor, Solver], torch.Tensor]  # rows int64[bucket] -> flags uint8[bucket]
Prefill = Callable[[Size, torch.Tensor, torch.Tensor], Hidden]  # size, layout, patches: see `prefill_step`

Output = TypeVar("Output")


def bucket_for(rows: int, largest: int) -> int:
    """Return the smallest bucket for `rows`; `largest` is a bucket even if it is not in BUCKETS."""
    assert 1 <= rows <= largest, f"{rows} rows, the largest bucket is {largest}"
    return next((bucket for bucket in BUCKETS if rows <= bucket <= largest), largest)


def pad(rows: list[int], bucket: int) -> torch.Tensor:
    """Return int64[bucket]: the rows, followed by the padding row."""
    return torch.tensor(rows + [PADDING_ROW] * (bucket - len(rows)))


@dataclass(frozen=True, eq=False)
class Captured(Generic[Output]):
    """A captured graph.

    inputs: static tensors that are filled before a replay.
    output: static tensors with the result of the last replay.
    """

    graph: torch.cuda.CUDAGraph
    inputs: tuple[torch.Tensor, ...]
    output: Output

    def replay(self, *inputs: torch.Tensor) -> Output:
        """Copy the inputs from the CPU and queue a replay. The next replay overwrites the returned output."""
        for static, value in zip(self.inputs, inputs, strict=True):
            upload_into(static, value)
        self.graph.replay()
        return self.output


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disable garbage collection: it may free graphs of an earlier engine, which would break a capture.

    Also suppresses the warning about an empty graph, which accompanies the error if a capture runs out of memory.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The CUDA Graph is empty")
            yield
    finally:
        if enabled:
            gc.enable()


class Capturer:
    """Captures graphs that share one memory pool. They must be replayed on one stream, so that no two run at once."""

    def __init__(self, device: torch.device, notify: Callable[[str], None], ready: Callable[[], None] = lambda: None):
        """ready: returns when no other thread uses the device; called before each capture."""
        self.device, self._notify, self._ready = device, notify, ready
        self._pool: Any = None  # torch's handle of the memory pool

    def capture(
        self, work: Callable[..., Output], inputs: tuple[torch.Tensor, ...], what: str, fallback: str
    ) -> Captured[Output] | None:
        """Capture work(*inputs). Returns None, after a message, if that fails. Raises if memory runs out.

        inputs:         tensors on the device. `work` is also run on them twice before the capture, so with them it must
                        not advance any request.
        what, fallback: what is captured, and what is done instead, for the message.
        """
        self._ready()
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):  # kernels are compiled and libraries set up outside the capture
                    work(*inputs)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with _gc_disabled(), torch.cuda.graph(graph, pool=self._pool):
                output = work(*inputs)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            self._notify(f"no CUDA graph for {what}, {fallback}: {reason_of(error, first_line=True)}")
            return None
        self._pool = self._pool or graph.pool()
        return Captured(graph, inputs, output)

    def clear(self) -> None:
        """Use a new memory pool for later graphs. The old pool is freed together with its graphs."""
        self._pool = None


class StepGraphs:
    """Graphs of steps, one for each (bucket, solver), captured lazily.

    While a larger graph exists it is used, with padding rows, until these have cost as much time as a capture: a
    draining batch passes through every bucket briefly.

    Products of different sizes round differently, so the last bits of a row depend on the bucket it ran in, and thereby
    on the graphs captured before.
    """

    def __init__(self, step: Step, largest: int, capturer: Capturer):
        """step: the eager step; must depend only on its arguments, the state table and the cache."""
        self._step, self.largest, self._capturer = step, largest, capturer
        self._captured: dict[tuple[int, Solver], Captured[torch.Tensor] | None] = {}
        self._wasted_rows: Counter[tuple[int, Solver]] = Counter()  # padding rows run for want of this graph

    def __call__(self, rows: list[int], solver: Solver) -> torch.Tensor:
        """Queue one step of `rows` and return their flags, uint8[len(rows)], on the device."""
        bucket = self._bucket(bucket_for(len(rows), self.largest), solver)
        captured = self._captured[bucket, solver]
        padded = pad(rows, bucket)
        if captured is None:
            return self._step(upload(padded, self._capturer.device), solver)[: len(rows)]
        # Cloned, because the next replay may overwrite the static flags before these have been read.
        return captured.replay(padded)[: len(rows)].clone()

    def _bucket(self, wanted: int, solver: Solver) -> int:
        """Return the bucket to run: `wanted`, or a larger one that has a graph."""
        if (wanted, solver) not in self._captured:
            larger = (b for (b, of), captured in self._captured.items() if captured and of == solver)
            substitute = min((b for b in larger if b > wanted), default=wanted)
            self._wasted_rows[wanted, solver] += substitute - wanted
            if wanted < substitute and self._wasted_rows[wanted, solver] < CAPTURE_COST_ROWS:
                return substitute
            self._captured[wanted, solver] = self._capture(wanted, solver)
        return wanted

    def clear(self) -> None:
        """Drop all graphs."""
        self._captured.clear()
        self._wasted_rows.clear()

    def _capture(self, bucket: int, solver: Solver) -> Captured[torch.Tensor] | None:
        """Capture on padding rows only, because the warm-up must not advance any request."""
        rows = torch.zeros(bucket, dtype=torch.int64, device=self._capturer.device)
        return self._capturer.capture(
            lambda rows: self._step(rows, solver),
            (rows,),
            f"{counted(bucket, 'request')} at once",
            "running them step by step",
        )


class PrefillGraphs:
    """Graphs of prefills, one for each padded size, captured when the size occurs for the second time."""

    def __init__(self, prefill: Prefill, capturer: Capturer):
        """prefill: the eager prefill, with a layout and patches on the device."""
        self._prefill, self._capturer = prefill, capturer
        self._captured: dict[Size, Captured[Hidden] | None] = {}
        self._seen: set[Size] = set()

    def __call__(self, size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Hidden | None:
        """Queue a prefill with a layout and patches on the CPU. Returns None if there is no graph of this size."""
        if size in self._seen and size not in self._captured:
            self._captured[size] = self._capture(size, layout, patches)
        self._seen.add(size)
        captured = self._captured.get(size)
        return captured.replay(layout, patches) if captured else None

    @property
    def sizes(self) -> list[Size]:
        """The sizes that have a graph."""
        return [size for size, captured in self._captured.items() if captured]

    def clear(self) -> None:
        """Drop all graphs."""
        self._captured.clear()

    def _capture(self, size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Captured[Hidden] | None:
        """Capture with the inputs of the next prefill: running it again writes the same values into the cache."""
        return self._capturer.capture(
            lambda layout, patches: self._prefill(size, layout, patches),
            (upload(layout, self._capturer.device), upload(patches, self._capturer.device)),
            f"prefills of {size.tokens} positions",
            "running them kernel by kernel",
        )
