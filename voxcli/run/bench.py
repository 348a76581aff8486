"""How fast the engine is here: the same work at several numbers of requests at once.

Every request makes the same number of patches (the stop head is not obeyed), so that rows can be compared.
"""

from __future__ import annotations

import math
import platform
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import SynthesisError
from voxcli.model.prompt import build_prompt
from voxcli.run.load import Loaded

TEXT = "The quick brown fox jumps over the lazy dog, and the dog sleeps on in the warm light of the afternoon."


@dataclass(frozen=True)
class Row:
    """One number of requests at once.

    ms_per_step:   wall time of one step of all requests, prefill and audio decode included.
    rtf:           of one request: seconds from its start to its audio, by seconds of audio; the median.
    rtf_p99:       the same, 99th percentile.
    throughput:    seconds of audio made in a second, all requests together.
    first_patch_s: from a request's start to its first patch; the median.
    gpu_memory_gb: most memory in use; None without a GPU.
    """

    requests: int
    ms_per_step: float
    rtf: float
    rtf_p99: float
    throughput: float
    first_patch_s: float
    gpu_memory_gb: float | None


@dataclass(frozen=True)
class Report:
    """Rows with all that is needed to read them later."""

    model: str
    device: str
    torch: str
    threads: int
    patches: int
    patch_s: float
    steps: int
    cfg: float
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> Table:
        table = Table(
            title=f"{self.model}\n{self.device}, torch {self.torch}",
            caption=f"{self.patches} patches of {self.patch_s:.2f} s a request, {self.steps} steps, cfg {self.cfg}",
        )
        for name in ("requests", "ms/step", "RTF of one", "RTF p99", "x real time", "first patch"):
            table.add_column(name, justify="right")
        on_gpu = any(row.gpu_memory_gb is not None for row in self.rows)
        if on_gpu:
            table.add_column("GPU memory", justify="right")
        for row in self.rows:
            cells = [
                str(row.requests),
                f"{row.ms_per_step:.1f}",
                f"{row.rtf:.3f}",
                f"{row.rtf_p99:.3f}",
                f"{row.throughput:.2f}",
                f"{row.first_patch_s * 1000:.0f} ms",
            ]
            table.add_row(*cells, *([f"{row.gpu_memory_gb or 0:.1f} GB"] if on_gpu else []))
        return table


def run_bench(
    loaded: Loaded,
    concurrency: Sequence[int],
    *,
    patches: int,
    steps: int,
    cfg: float,
    on_row: Callable[[int], None],
) -> Report:
    """Measure each number of requests at once, each after a short run that warms up. `on_row` hears what comes next."""
    engine = loaded.engine
    rows = []
    for requests in concurrency:
        on_row(requests)
        _generate(engine, requests, _sampling(min(patches, 4), steps, cfg))
        rows.append(_measure(engine, requests, _sampling(patches, steps, cfg)))
    return Report(
        model=loaded.name,
        device=device_name(engine.model.device),
        torch=torch.__version__,
        threads=torch.get_num_threads(),
        patches=patches,
        patch_s=engine.model.patch_s,
        steps=steps,
        cfg=cfg,
        rows=tuple(rows),
    )


def _sampling(patches: int, steps: int, cfg: float) -> Sampling:
    """Exactly so many patches, whatever the text and the stop head."""
    return Sampling(seed=0, cfg=cfg, steps=steps, min_len=patches - 1, max_len=patches, ratio=1e6, attempts=1)


def _generate(engine: Engine, requests: int, sampling: Sampling) -> list[Clip]:
    prompt = build_prompt(engine.model.tokenizer, TEXT, patch_shape=engine.model.patch_shape)
    clips = list(engine.generate(Request(f"bench-{n}", prompt, sampling) for n in range(requests)))
    for clip in clips:
        if clip.error is not None:
            raise SynthesisError(f"{requests} requests at once: {clip.error}")
    return clips


def _measure(engine: Engine, requests: int, sampling: Sampling) -> Row:
    device = engine.model.device
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    began = time.perf_counter()
    clips = _generate(engine, requests, sampling)
    wall = time.perf_counter() - began
    rtfs = sorted((clip.timings.generate_s + clip.timings.decode_s) / clip.duration_s for clip in clips)
    return Row(
        requests=requests,
        ms_per_step=1000 * wall / sampling.max_len,
        rtf=statistics.median(rtfs),
        rtf_p99=rtfs[math.ceil(0.99 * len(rtfs)) - 1],
        throughput=sum(clip.duration_s for clip in clips) / wall,
        first_patch_s=statistics.median(clip.timings.first_patch_s for clip in clips),
        gpu_memory_gb=torch.cuda.max_memory_allocated(device) / 1e9 if on_gpu else None,
    )


def device_name(device: torch.device) -> str:
    """The card's or the processor's own name."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "mps":
        return f"{platform.machine()} (MPS)"
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
        name = found[1] if found else name
    return f"CPU: {name}, {torch.get_num_threads()} threads"
