"""Whole steps, and whole prefills, as CUDA graphs: launched one by one, their kernels would wait for the CPU.

A graph reads its input from static tensors and everything else from the cache and the state table, so a replay is:
fill the input, replay, read the output. Each is captured when it pays. A capture that fails leaves its shape to eager
calls for good, with one remark.
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
IDLE_ROWS = 800  # of a step, that take about as long as a capture (0.15 s on an H200)

Step = Callable[[torch.Tensor, Solver], torch.Tensor]  # rows int64[bucket] -> flags uint8[bucket]
Prefill = Callable[[Size, torch.Tensor, torch.Tensor], Hidden]  # size, layout, patches: see `prefill_step`

Output = TypeVar("Output")


def bucket_for(rows: int, largest: int) -> int:
    """The smallest bucket that holds `rows`; `largest` is one whatever it is."""
    assert 1 <= rows <= largest, f"{rows} rows, the largest bucket is {largest}"
    return next((bucket for bucket in BUCKETS if rows <= bucket <= largest), largest)


def pad(rows: list[int], bucket: int) -> torch.Tensor:
    """int64[bucket], filled up with the padding row."""
    return torch.tensor(rows + [PADDING_ROW] * (bucket - len(rows)))


@dataclass(frozen=True, eq=False)
class Captured(Generic[Output]):
    """inputs: static tensors to fill before a replay; output: static too, of the last replay."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[torch.Tensor, ...]
    output: Output

    def replay(self, *inputs: torch.Tensor) -> Output:
        """Queue the work on these inputs, from the CPU. The next replay overwrites what it gives."""
        for place, value in zip(self.inputs, inputs, strict=True):
            upload_into(place, value)
        self.graph.replay()
        return self.output


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Collect no garbage: it may hold graphs of an earlier engine, and to free one breaks a capture.

    A capture that runs out of memory ends with a warning about an empty graph beside the error; the error is enough.
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
    """Captures work that runs on one stream, in memory that all its graphs share: no two of them run at once."""

    def __init__(self, device: torch.device, notify: Callable[[str], None], ready: Callable[[], None] = lambda: None):
        """ready: returns when no other thread uses the device; called before each capture."""
        self.device, self._notify, self._ready = device, notify, ready
        self._pool: Any = None  # a handle of torch's

    def capture(
        self, work: Callable[..., Output], inputs: tuple[torch.Tensor, ...], what: str, instead: str
    ) -> Captured[Output] | None:
        """`inputs` are those of the capture and of its warm-up, on the device: they must not move any request.

        what, instead: for the remark when it fails.
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
            with _undisturbed(), torch.cuda.graph(graph, pool=self._pool):
                output = work(*inputs)
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise
            self._notify(f"no CUDA graph for {what}, {instead}: {reason_of(error, first_line=True)}")
            return None
        self._pool = self._pool or graph.pool()
        return Captured(graph, inputs, output)

    def forget(self) -> None:
        """Begin new memory; that of the graphs so far is free when they are."""
        self._pool = None


class StepGraphs:
    """One for each (bucket, solver). Captured when first wanted; but where there is a larger one already, that
    runs the rows, until it has run so many for nothing that capturing would have been cheaper: the end of a batch
    comes through every bucket, and stays in none.

    Products of another size round differently: the last bits of a row depend on the graph that ran it, and so on what
    was captured before.
    """

    def __init__(self, step: Step, largest: int, capturer: Capturer):
        """step: runs eagerly and depends on nothing but its rows and what lies in the state table."""
        self._step, self.largest, self._capturer = step, largest, capturer
        self._captured: dict[tuple[int, Solver], Captured[torch.Tensor] | None] = {}
        self._idle_rows: Counter[tuple[int, Solver]] = Counter()  # run for nothing, for want of such a graph

    def __call__(self, rows: list[int], solver: Solver) -> torch.Tensor:
        """Queue one step of `rows`; their flags, uint8[len(rows)], on the device."""
        bucket = self._bucket(bucket_for(len(rows), self.largest), solver)
        captured = self._captured[bucket, solver]
        padded = pad(rows, bucket)
        if captured is None:
            return self._step(upload(padded, self._capturer.device), solver)[: len(rows)]
        # The next replay overwrites the static flags, maybe before these have been read.
        return captured.replay(padded)[: len(rows)].clone()

    def _bucket(self, wanted: int, solver: Solver) -> int:
        """The wanted one, or a larger one that serves for now."""
        if (wanted, solver) not in self._captured:
            larger = (b for (b, of), captured in self._captured.items() if captured and of == solver)
            instead = min((b for b in larger if b > wanted), default=wanted)
            self._idle_rows[wanted, solver] += instead - wanted
            if wanted < instead and self._idle_rows[wanted, solver] < IDLE_ROWS:
                return instead
            self._captured[wanted, solver] = self._capture(wanted, solver)
        return wanted

    def forget(self) -> None:
        """Drop all graphs."""
        self._captured.clear()
        self._idle_rows.clear()

    def _capture(self, bucket: int, solver: Solver) -> Captured[torch.Tensor] | None:
        """Captured on padding rows alone: a warm-up must not move anybody."""
        rows = torch.zeros(bucket, dtype=torch.int64, device=self._capturer.device)
        return self._capturer.capture(
            lambda rows: self._step(rows, solver),
            (rows,),
            f"{counted(bucket, 'request')} at once",
            "running them step by step",
        )


class PrefillGraphs:
    """One for each padded size, captured when it is wanted for the second time: a batch may need it once."""

    def __init__(self, prefill: Prefill, capturer: Capturer):
        """prefill: runs eagerly, with a layout and patches on the device."""
        self._prefill, self._capturer = prefill, capturer
        self._captured: dict[Size, Captured[Hidden] | None] = {}
        self._seen: set[Size] = set()

    def __call__(self, size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Hidden | None:
        """Queue a prefill that was laid out on the CPU; None where there is no graph of that size."""
        if size in self._seen and size not in self._captured:
            self._captured[size] = self._capture(size, layout, patches)
        self._seen.add(size)
        captured = self._captured.get(size)
        return captured.replay(layout, patches) if captured else None

    @property
    def sizes(self) -> list[Size]:
        """Those that have a graph."""
        return [size for size, captured in self._captured.items() if captured]

    def forget(self) -> None:
        """Drop all graphs."""
        self._captured.clear()

    def _capture(self, size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Captured[Hidden] | None:
        """Captured on the very work that comes next: done once more, it writes the same into the cache."""
        return self._capturer.capture(
            lambda layout, patches: self._prefill(size, layout, patches),
            (upload(layout, self._capturer.device), upload(patches, self._capturer.device)),
            f"prefills of {size.tokens} positions",
            "running them kernel by kernel",
        )
