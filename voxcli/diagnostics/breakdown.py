"""Break down the time of a step: run each part of the model alone, on rows like those of the benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from voxcli.diagnostics.roofline import best_seconds
from voxcli.engine.engine import Engine
from voxcli.engine.step import next_positions
from voxcli.model.solver import Solver

REPEATS = 10


@torch.inference_mode()
def time_parts(engine: Engine, requests: int, positions: int, solver: Solver) -> dict[str, float]:
    """Return seconds per step of LocDiT, the LMs, LocEnc and the audio decode, for `requests` rows of `positions`.

    On CUDA each part is captured as a graph, as it runs in a step. Uses the engine's rows, so the engine must be idle.
    """
    assert not engine.has_work, "the rows are in use"
    model, runner, device = engine.model, engine.runner, engine.model.device
    rows = torch.arange(1, requests + 1, device=device)
    state, cache = runner.state, runner.cache
    state.block_table[rows] = 1  # all rows share a page: reading costs the same wherever the data is
    state.position[rows] = positions
    patch = torch.randn(requests, *model.patch_shape, device=device)
    mu = torch.randn(requests, 2, model.config.locdit.hidden_size, device=device, dtype=model.dtype)
    cfg = torch.full((requests,), 2.0, device=device)
    schedule = model.feat_decoder.schedule(solver)
    embeds = model.encode_patches(patch)
    batch = next_positions(state, rows, positions + 1)
    frames = patch.repeat(1, REPEATS, 1)  # clips are decoded many patches at a time
    parts: dict[str, Callable[[], object]] = {
        "LocDiT": lambda: model.next_patch(mu, patch, patch, cfg, schedule),
        "LMs": lambda: model.advance(embeds, None, (cache.base, cache.residual), runner.attend, batch),
        "LocEnc": lambda: model.encode_patches(patch),
    }
    seconds = {name: best_seconds(_replayed(work, device), device) for name, work in parts.items()}
    clips = [row.view(-1, *model.patch_shape) for row in frames]
    decode = best_seconds(lambda: engine.audio.decoder.decode(clips), device, runs=2)
    state.position[rows] = 0
    state.block_table.copy_(state.host_table)
    return seconds | {"audio decode": decode / REPEATS}


class GpuUtilization(NamedTuple):
    """GPU utilization, as shares of the wall time.

    launches: the GPU has work: a kernel, a copy, or a graph from its first to its last kernel. The rest is idle time.
    kernels:  a kernel or a copy runs; pauses between the kernels of a graph do not count.
    """

    launches: float
    kernels: float


def busy_shares(work: Callable[[], object]) -> GpuUtilization:
    """Measure GPU utilization of `work` with torch's profiler.

    The profiler delays kernel launches, so the real utilization is higher.
    """
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        began = time.perf_counter_ns()
        work()
        torch.cuda.synchronize()
        wall = time.perf_counter_ns() - began
    events = [e for e in profiler.profiler.kineto_results.events() if e.device_type().name == "CUDA"]
    kernels = [(e.start_ns(), e.start_ns() + e.duration_ns()) for e in events]
    launches: dict[int, tuple[int, int]] = {}  # all kernels of a graph have the correlation id of its launch
    for event, (start, end) in zip(events, kernels, strict=True):
        first, last = launches.get(event.correlation_id(), (start, end))
        launches[event.correlation_id()] = min(first, start), max(last, end)
    return GpuUtilization(covered(launches.values()) / wall, covered(kernels) / wall)


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """Return the total length covered by spans (start, end), counting overlaps once."""
    total, until = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def _replayed(work: Callable[[], object], device: torch.device) -> Callable[[], object]:
    if device.type != "cuda":
        return work
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay
