"""What an engine may use, by default and at most, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.engine.pages import Cache, pages_for
from voxcli.memory import available_memory
from voxcli.model.voxcpm2 import VoxCPM2

GIB = 2**30
DEFAULT_BATCH = 32  # of a CPU
CPU_CACHE_GIB = 2.0
USUAL_LENGTH = 1024  # positions of a request: a voice of a minute, its text, and what is spoken


@dataclass(frozen=True)
class EngineConfig:
    """
    max_batch:      most requests at once; None: by what the device has memory for.
    pages:          pages of 16 positions in the cache; None: enough for max_batch requests of 1,024 positions, at
                    most `cache_gib`.
    cache_gib:      bound of the cache when `pages` is None; None: half of the free memory, on a CPU at most 2.
    requests:       how many will ever come; None: unknown. On a CPU tables are no larger than these need.
    prefill_tokens: most prompt positions in one step, longer prompts go in chunks; None: 2,048, on CUDA 16,384, so
                    that all rows of a batch begin together.
    pad_to_bucket:  run steps at the sizes of BUCKETS only; None: on CUDA, where shapes are captured.
    graphs:         capture steps as CUDA graphs; None: on CUDA.
    decode_clips:   most clips in one audio decode.
    voices:         most encoded voices kept.
    """

    max_batch: int | None = None
    pages: int | None = None
    cache_gib: float | None = None
    requests: int | None = None
    prefill_tokens: int | None = None
    pad_to_bucket: bool | None = None
    graphs: bool | None = None
    decode_clips: int = 16
    voices: int = 64


DEFAULT = EngineConfig()


@dataclass(eq=False)
class Counters:
    """Since the engine was made; for benchmarks and tests."""

    steps: int = 0
    preemptions: int = 0
    shrinks: int = 0


def default_pages(model: VoxCPM2, config: EngineConfig, rows: int) -> int:
    """Pages of a cache for `rows` requests, as far as `cache_gib` affords them."""
    context, device, bound = model.config.context, model.device, config.cache_gib
    wanted = rows * pages_for(min(context, USUAL_LENGTH))
    if config.requests is not None and device.type != "cuda":
        usual = config.max_batch or DEFAULT_BATCH
        if rows >= min(usual, config.requests):  # few may be long: each page that they can fill, as in a large batch
            wanted = min(usual * pages_for(min(context, USUAL_LENGTH)), config.requests * pages_for(context))
    if bound is None and device.type == "cuda":
        bound = torch.cuda.mem_get_info(device)[0] / 2 / GIB
    elif bound is None:
        bound = min(CPU_CACHE_GIB, (available_memory() or 2 * CPU_CACHE_GIB * GIB) / 2 / GIB)
    affordable = int(bound * GIB / Cache.page_bytes(model.config, model.dtype))
    return max(min(wanted, affordable), pages_for(context))


def default_batch(device: torch.device, requests: int | None) -> int:
    """Requests at once that a device runs well: more no longer raise a CPU's throughput, nor fit a small GPU."""
    if device.type != "cuda":
        return DEFAULT_BATCH if requests is None else max(1, min(DEFAULT_BATCH, requests))
    free = torch.cuda.mem_get_info(device)[0] / GIB
    return 256 if free > 40 else 64 if free > 16 else 16
