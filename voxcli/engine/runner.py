"""Runs prefills and steps on the device. The runner owns the cache, the state table and the CUDA graphs.

eager    on any device, with the given rows or padded to a bucket
graphs   on CUDA: a whole step, or a whole prefill, is one captured graph
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from voxcli import faults
from voxcli.engine.graphs import Capturer, PrefillGraphs, StepGraphs, bucket_for, pad
from voxcli.engine.pages import PAGE_SIZE, Cache
from voxcli.engine.prefill import Chunk, Size, lay_out, prefill_step
from voxcli.engine.state import StateTable
from voxcli.engine.step import decode_step
from voxcli.engine.transfer import upload
from voxcli.extras import install_hint
from voxcli.kernels.attention import PagedAttention, TorchPagedAttention
from voxcli.model.locdit import Schedule
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import Hidden, VoxCPM2


def choose_attention(device: torch.device, dtype: torch.dtype, notify: Callable[[str], None]) -> PagedAttention:
    """Return vLLM's attention on CUDA in 16 bits if it is available, plain torch otherwise."""
    if device.type != "cuda" or dtype == torch.float32:  # FlashAttention supports 16-bit types only
        return TorchPagedAttention()
    from voxcli.kernels.vllm_attention import VllmPagedAttention

    try:
        return VllmPagedAttention.load()
    except ImportError as error:
        notify(f"vLLM attention is unavailable, using torch ({error}); to install it: {install_hint('vllm')}")
        return TorchPagedAttention()


class Runner:
    def __init__(
        self,
        model: VoxCPM2,
        rows: int,
        pages: int,
        *,
        padded: bool,
        graphs: bool,
        notify: Callable[[str], None],
        ready: Callable[[], None] = lambda: None,
    ):
        """Allocate the tables and the cache.

        rows:   maximum number of concurrent requests.
        pages:  of the cache, without the padding page.
        padded: pad prefills and steps to fixed sizes.
        graphs: capture CUDA graphs, if the attention supports it.
        notify: receives messages for people, one line each.
        ready:  returns when no other thread uses the device; called before each capture.
        """
        self.model, self.padded = model, padded
        self.attend = choose_attention(model.device, model.dtype, notify)
        self.state = StateTable(model, rows)
        self.cache = Cache.create(model.config, pages + 1, model.device, model.dtype)
        self.largest = rows
        self._context = self.state.block_table.shape[1] * PAGE_SIZE
        self._schedules: dict[Solver, Schedule] = {}
        self.graphs: StepGraphs | None = None
        self.prefill_graphs: PrefillGraphs | None = None
        self._capturer: Capturer | None = None
        # Without fixed shapes the cost of attention depends on the maximum length, for which graphs are captured, so
        # they would be slower than eager steps.
        if graphs and self.attend.fixed_shapes:
            self._capturer = Capturer(model.device, notify, ready)
            self.graphs = StepGraphs(self._longest_step, rows, self._capturer)
            self.prefill_graphs = PrefillGraphs(self._run_prefill, self._capturer)

    def prefill(self, chunks: list[Chunk]) -> Hidden | None:
        """Run chunks of many rows in one packed call.

        Returns the hidden states of the chunks that end their prompt, in order; None if there are none. They are valid
        until the next prefill.
        """
        inject_nan = faults.point("prefill")
        exact = Size.of(chunks)
        padded = exact.padded(self.largest, self._context) if self.padded else None
        size = padded or exact
        layout, patches = lay_out(self.state, chunks, size)
        hidden = None
        if padded and self.prefill_graphs is not None:
            hidden = self.prefill_graphs(padded, layout, patches)
        if hidden is None:
            hidden = self._run_prefill(size, upload(layout, self.model.device), upload(patches, self.model.device))
        if not exact.ends:
            return None
        if inject_nan:
            hidden.mu.fill_(torch.nan)
        return Hidden(hidden.mu[: exact.ends], hidden.stop[: exact.ends])

    def decode(self, rows: list[int], solver: Solver, max_kv: int) -> torch.Tensor:
        """Queue one step of `rows` and return their flags, uint8[len(rows)], on the device.

        max_kv: upper bound of the length of a row, including the new patch.
        """
        if faults.point("step"):
            self.state.mu[rows] = torch.nan
        self.state.sync()
        if self.graphs is not None:
            return self.graphs(rows, solver)
        bucket = bucket_for(len(rows), self.largest) if self.padded else len(rows)
        on_device = upload(pad(rows, bucket), self.model.device)
        return self._step(on_device, solver, max_kv)[: len(rows)]

    def latents(self, spans: Sequence[tuple[list[int], int, int]]) -> Sequence[torch.Tensor]:
        """Read the latents of several requests with one copy.

        spans: (pages, first, end) of each request. Returns the patches at positions first to end - 1 of each,
        float32[end - first, patch_size, feat_dim], on the device.
        """
        if not spans:
            return []
        positions = [torch.arange(first, end) for _, first, end in spans]
        slots = [
            torch.tensor(pages)[span // PAGE_SIZE] * PAGE_SIZE + span % PAGE_SIZE
            for (pages, _, _), span in zip(spans, positions, strict=True)
        ]
        return self.cache.latents[upload(torch.cat(slots), self.model.device)].split([len(span) for span in positions])

    def shrink(self, largest: int) -> None:
        """Limit the number of concurrent requests to `largest` and free the memory of all graphs."""
        self.largest = largest
        if self.graphs is not None:
            self.graphs.largest = largest
        for captured in (self.graphs, self.prefill_graphs, self._capturer):
            if captured is not None:
                captured.clear()
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()

    def _run_prefill(self, size: Size, layout: torch.Tensor, patches: torch.Tensor) -> Hidden:
        return prefill_step(self.model, self.cache, self.attend, size, layout, patches)

    def _longest_step(self, rows: torch.Tensor, solver: Solver) -> torch.Tensor:
        return self._step(rows, solver, self._context)

    def _step(self, rows: torch.Tensor, solver: Solver, max_kv: int) -> torch.Tensor:
        if solver not in self._schedules:
            self._schedules[solver] = self.model.feat_decoder.schedule(solver)
        return decode_step(self.model, self.state, self.cache, self.attend, rows, self._schedules[solver], max_kv)
