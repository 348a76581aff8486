"""Benchmark the engine: the same work with several numbers of concurrent requests.

Every request makes the same number of patches (the stop head is ignored), so that rows can be compared with each other,
with the times of the parts of a step, and with the device's minimum time for a step.
"""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from voxcli.diagnostics.breakdown import busy_shares, time_parts
from voxcli.diagnostics.roofline import Rates, measure_rates, step_costs
from voxcli.engine.engine import Engine
from voxcli.engine.load import LoadedEngine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import SynthesisError
from voxcli.model.prompt import Prompt, build_prompt
from voxcli.model.solver import Solver
from voxcli.terminal import counted

TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on in the warm light of the afternoon."


@dataclass(frozen=True)
class Measurement:
    """The measurement of one number of concurrent requests.

    ms_per_step:   wall time of one step of all requests, including prefill and audio decode.
    rtf:           median over requests of the seconds until its audio is complete, per second of audio.
    rtf_p99:       99th percentile of the same.
    throughput:    seconds of audio per second, all requests together.
    first_patch_s: median time from a request's start to its first patch.
    gpu_memory_gb: peak memory in use; None without a GPU.
    gpu_busy:      share of the wall time in which the GPU has work; None without a GPU.
    gpu_kernels:   share in which a kernel runs, by the profiler (see `GpuUtilization`); None without a GPU.
    floor_ms:      minimum time of a step on this device (see `roofline`).
    parts_ms:      times of the parts of a step, each run alone, the GPU's idle time, and the rest of ms_per_step.
    """

    requests: int
    ms_per_step: float
    rtf: float
    rtf_p99: float
    throughput: float
    first_patch_s: float
    gpu_memory_gb: float | None
    gpu_busy: float | None
    gpu_kernels: float | None
    floor_ms: float
    parts_ms: dict[str, float]

    @property
    def of_the_floor(self) -> float:
        """The minimum time of a step as a fraction of the measured time; 1 is optimal."""
        return self.floor_ms / self.ms_per_step


@dataclass(frozen=True)
class BenchReport:
    """Measurements and the conditions under which they were made."""

    model: str
    device: str
    torch: str
    threads: int
    dtype: str
    attention: str
    patches: int
    patch_s: float
    prompt_tokens: int
    solver: str
    steps: int
    cfg: float
    copy_gb_per_s: float
    matmul_tflops: float
    rows: tuple[Measurement, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def tables(self) -> list[Table]:
        """Return two tables: speeds, and the time of each part of a step."""
        return [self._speeds(), self._parts()]

    def _speeds(self) -> Table:
        table = Table(
            title=f"{self.model}\n{self.device}, torch {self.torch}, {self.attention} attention",
            caption=(
                f"per request: {self.patches} patches of {self.patch_s:.2f} s, "
                f"{counted(self.prompt_tokens, 'token')} of text, {Solver(self.solver, self.steps)}, cfg {self.cfg:g}"
            ),
        )
        for name in ("requests", "ms/step", "RTF", "RTF p99", "x real time", "first patch", "roofline"):
            table.add_column(name, justify="right")
        on_gpu = any(row.gpu_memory_gb is not None for row in self.rows)
        if on_gpu:
            table.add_column("GPU busy", justify="right")
            table.add_column("GPU memory", justify="right")
        for row in self.rows:
            cells = [
                str(row.requests),
                f"{row.ms_per_step:.2f}",
                f"{row.rtf:.3f}",
                f"{row.rtf_p99:.3f}",
                f"{row.throughput:.2f}",
                f"{row.first_patch_s * 1000:.0f} ms",
                f"{row.of_the_floor:.0%}",
            ]
            table.add_row(*cells, *([f"{row.gpu_busy or 0:.0%}", f"{row.gpu_memory_gb or 0:.1f} GB"] if on_gpu else []))
        return table

    def _parts(self) -> Table:
        table = Table(
            title="time per step in ms (each part run alone)",
            caption=f"roofline: {self.copy_gb_per_s:.0f} GB/s, {self.matmul_tflops:.3g} TFLOP/s in {self.dtype}",
        )
        names = list(self.rows[0].parts_ms)
        for name in ("requests", *names, "step", "roofline"):
            table.add_column(name, justify="right")
        for row in self.rows:
            parts = (f"{row.parts_ms[name]:.2f}" for name in names)
            table.add_row(str(row.requests), *parts, f"{row.ms_per_step:.2f}", f"{row.floor_ms:.2f}")
        return table


@dataclass(frozen=True)
class Workload:
    """The work of each request of a benchmark."""

    patches: int
    prompt_tokens: int
    solver: Solver
    cfg: float

    @property
    def positions(self) -> int:
        """Average number of positions of a request over its patches: text, audio mark, half of the patches."""
        return self.prompt_tokens + 1 + self.patches // 2

    def sampling(self, patches: int) -> Sampling:
        """Return sampling parameters that make exactly `patches` patches, ignoring the text and the stop head."""
        return Sampling(
            seed=0,
            cfg=self.cfg,
            solver=self.solver.name,
            steps=self.solver.steps,
            min_len=patches - 1,
            max_len=patches,
            ratio=1e6,
            attempts=1,
        )


def run_bench(
    loaded: LoadedEngine, concurrency: Sequence[int], load: Workload, on_row: Callable[[int], None]
) -> BenchReport:
    """Measure each number of concurrent requests, after a warm-up. `on_row` is called with the number before it starts.

    Raises SynthesisError when a request fails.
    """
    engine = loaded.engine
    model = engine.model
    rates = measure_rates(model.device, model.dtype)
    rows = []
    for requests in concurrency:
        on_row(requests)
        for patches in (min(2, load.patches), load.patches):  # a prefill graph is captured when its size occurs twice
            _generate(engine, requests, load, patches)
        rows.append(_measure(engine, requests, load, rates))
    return BenchReport(
        model=loaded.name,
        device=device_name(model.device),
        torch=torch.__version__,
        threads=torch.get_num_threads(),
        dtype=str(model.dtype).removeprefix("torch."),
        attention=engine.runner.attend.name,
        patches=load.patches,
        patch_s=model.patch_s,
        prompt_tokens=load.prompt_tokens,
        solver=load.solver.name,
        steps=load.solver.steps,
        cfg=load.cfg,
        copy_gb_per_s=rates.bytes_per_s / 1e9,
        matmul_tflops=rates.flops / 1e12,
        rows=tuple(rows),
    )


def _prompt(engine: Engine, tokens: int) -> Prompt:
    """Return a prompt with exactly `tokens` text tokens."""
    tokenizer = engine.model.tokenizer
    prompt = build_prompt(tokenizer, TEXT, patch_shape=engine.model.patch_shape)
    text = prompt.token_ids[:-1].repeat(math.ceil(tokens / (len(prompt) - 1)))[:tokens]
    return replace(
        prompt,
        token_ids=torch.cat((text, prompt.token_ids[-1:])),
        is_audio=torch.zeros(tokens + 1, dtype=torch.bool),
        target_tokens=tokens,
    )


def _generate(engine: Engine, requests: int, load: Workload, patches: int) -> tuple[list[Clip], list[float]]:
    """Return the clips, and for each the seconds from the start of all requests to its arrival."""
    prompt, sampling = _prompt(engine, load.prompt_tokens), load.sampling(patches)
    began = time.perf_counter()
    clips, arrivals = [], []
    for clip in engine.generate(Request(f"bench-{n}", prompt, sampling) for n in range(requests)):
        if clip.error is not None:
            raise SynthesisError(f"{counted(requests, 'concurrent request')}: {clip.error}")
        clips.append(clip)
        arrivals.append(time.perf_counter() - began)
    return clips, arrivals


def _measure(engine: Engine, requests: int, load: Workload, rates: Rates) -> Measurement:
    device = engine.model.device
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    clips, arrivals = _generate(engine, requests, load, load.patches)
    wall = arrivals[-1]
    rtfs = sorted(arrival / clip.duration_s for clip, arrival in zip(clips, arrivals, strict=True))
    memory = torch.cuda.max_memory_allocated(device) / 1e9 if on_gpu else None
    ms_per_step = 1000 * wall / load.patches
    costs = step_costs(engine.model.config, requests, load.solver, load.positions, engine.model.dtype)
    parts = time_parts(engine, requests, load.positions, load.solver)
    parts_ms = {name: 1000 * seconds for name, seconds in parts.items()}
    busy = busy_shares(lambda: _generate(engine, requests, load, load.patches)) if on_gpu else None
    if busy is not None:
        parts_ms["idle"] = ms_per_step * (1 - busy.launches)
    return Measurement(
        requests=requests,
        ms_per_step=ms_per_step,
        rtf=statistics.median(rtfs),
        rtf_p99=rtfs[math.ceil(0.99 * len(rtfs)) - 1],
        throughput=sum(clip.duration_s for clip in clips) / wall,
        first_patch_s=statistics.median(clip.timings.first_patch_s for clip in clips),
        gpu_memory_gb=memory,
        gpu_busy=busy.launches if busy else None,
        gpu_kernels=busy.kernels if busy else None,
        floor_ms=1000 * sum(cost.seconds(rates) for cost in costs.values()),
        parts_ms=parts_ms | {"other": max(0.0, ms_per_step - sum(parts_ms.values()))},
    )


def device_name(device: torch.device) -> str:
    """Return the name of the GPU or CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return f"{platform.machine()} (MPS)"
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if os.path.isfile(info):
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
        name = found[1] if found else name
    return f"CPU: {name}, {counted(torch.get_num_threads(), 'thread')}"
