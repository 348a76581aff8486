"""Limits and defaults of an engine, and its counters."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.engine.pages import Cache, pages_for
from voxcli.memory import available_memory
from voxcli.model.voxcpm2 import VoxCPM2

GIB = 2**30
DEFAULT_BATCH = 32  # on a CPU
CPU_CACHE_GIB = 2.0
TYPICAL_LENGTH = 1024  # positions of a request: a voice of one minute, the text and the output


@dataclass(frozen=True)
class EngineConfig:
    """The limits of an engine.

    max_batch:      maximum number of concurrent requests; None: chosen from the device's memory.
    pages:          pages of 16 positions in the cache; None: enough for max_batch requests of 1,024 positions, limited
                    by `cache_gib`.
    cache_gib:      maximum size of the cache in GiB if `pages` is None; None: half of the free memory, at most 2 on a
                    CPU.
    requests:       total number of requests to come; None: unknown. On a CPU tables are no larger than these need.
    prefill_tokens: maximum number of prompt positions per step; longer prompts are prefilled in chunks. None: 2,048, on
                    CUDA 16,384, so that all rows of a batch start together.
    pad_to_bucket:  pad steps to the sizes of BUCKETS; None: on CUDA only, where shapes are captured.
    graphs:         capture steps as CUDA graphs; None: on CUDA only.
    decode_clips:   maximum number of clips in one audio decode; None: 16, on a CPU 1, as it decodes them one by one.
    voices:         maximum number of encoded voices in the cache.
    """

    max_batch: int | None = None
    pages: int | None = None
    cache_gib: float | None = None
    requests: int | None = None
    prefill_tokens: int | None = None
    pad_to_bucket: bool | None = None
    graphs: bool | None = None
    decode_clips: int | None = None
    voices: int = 64


DEFAULT = EngineConfig()


@dataclass(eq=False)
class Counters:
    """Counts of events since the engine was created, for benchmarks and tests.

    shrinks: how often the maximum number of concurrent requests was halved because memory ran out.
    """

    steps: int = 0
    preemptions: int = 0
    shrinks: int = 0


def default_pages(model: VoxCPM2, config: EngineConfig, rows: int) -> int:
    """Return the number of pages for `rows` concurrent requests, within `cache_gib` but enough for one full context."""
    context, device, bound = model.config.context, model.device, config.cache_gib
    wanted = rows * pages_for(min(context, TYPICAL_LENGTH))
    if config.requests is not None and device.type != "cuda":
        usual = config.max_batch or DEFAULT_BATCH
        if rows >= min(usual, config.requests):  # a few requests may be long: allow as many pages as in a large batch
            wanted = min(usual * pages_for(min(context, TYPICAL_LENGTH)), config.requests * pages_for(context))
    if bound is None and device.type == "cuda":
        bound = torch.cuda.mem_get_info(device)[0] / 2 / GIB
    elif bound is None:
        bound = min(CPU_CACHE_GIB, (available_memory() or 2 * CPU_CACHE_GIB * GIB) / 2 / GIB)
    affordable = int(bound * GIB / Cache.page_bytes(model.config, model.dtype))
    return max(min(wanted, affordable), pages_for(context))


def default_batch(device: torch.device, requests: int | None) -> int:
    """Return the default maximum of concurrent requests.

    More do not increase the throughput of a CPU; on a GPU the number depends on the free memory.
    """
    if device.type != "cuda":
        return DEFAULT_BATCH if requests is None else max(1, min(DEFAULT_BATCH, requests))
    free = torch.cuda.mem_get_info(device)[0] / GIB
    return 256 if free > 40 else 64 if free > 16 else 16
