"""Roofline model: the minimum time of a step, from the bytes it must read and the operations it must do.

The counts follow from config.json. The two rates are measured on the device, with a large copy and a large matrix
product. Parts that run one after the other have separate bounds, so their times add up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from voxcli.model.config import ModelConfig, TransformerConfig
from voxcli.model.solver import Solver


@dataclass(frozen=True)
class Rates:
    """Rates of the device: bytes per second (read plus written) and operations per second."""

    bytes_per_s: float
    flops: float


@dataclass(frozen=True)
class Cost:
    """The cost of one part of a step: bytes read and floating-point operations."""

    bytes: float
    flops: float

    def seconds(self, rates: Rates) -> float:
        return max(self.bytes / rates.bytes_per_s, self.flops / rates.flops)


def parameters(config: TransformerConfig) -> int:
    """Return the number of parameters in the matrices of a transformer."""
    q = config.num_heads * config.head_dim
    kv = 2 * config.num_kv_heads * config.head_dim
    layer = config.hidden_size * (q + kv) + q * config.hidden_size + 3 * config.hidden_size * config.intermediate_size
    return config.num_layers * layer


def step_costs(
    config: ModelConfig, requests: int, solver: Solver, positions: int, dtype: torch.dtype
) -> dict[str, Cost]:
    """Return the costs of the parts of one step, for `requests` requests with `positions` positions each."""
    width, evaluations = dtype.itemsize, solver.evaluations
    base, residual = parameters(config.base_lm), parameters(config.residual_lm)
    locdit, locenc = parameters(config.locdit), parameters(config.locenc)
    hidden, dit = config.lm_config.hidden_size, config.locdit.hidden_size
    glue = hidden * (
        2 * config.scalar_quantization_latent_dim + config.locenc.hidden_size + 2 * dit + 2 * hidden + hidden + 2
    )
    kv = sum(2 * c.num_layers * c.num_kv_heads * c.head_dim for c in (config.base_lm, config.residual_lm))
    tokens = requests * 2 * (2 * config.patch_size + 3)
    lms = base + residual + glue
    return {
        "LocDiT": Cost(evaluations * locdit * width, 2.0 * evaluations * locdit * tokens),
        "LMs": Cost((lms + requests * positions * kv) * width, 2.0 * lms * requests),
        "LocEnc": Cost(locenc * width, 2.0 * locenc * requests * (config.patch_size + 1)),
        "audio decode": _decoder_cost(config, requests),
    }


def _decoder_cost(config: ModelConfig, requests: int) -> Cost:
    """Return the cost of decoding one patch per request: its convolutions. Weights are read once for many frames."""
    vae = config.audio_vae_config
    channels, rate, macs = vae.decoder_dim, 1, vae.latent_dim * vae.decoder_dim
    for stride in vae.decoder_rates:
        half = channels // 2
        rate *= stride
        macs += rate * (2 * channels * half + 3 * half * half + 3 * 7 * half * (1 if vae.depthwise else half))
        channels = half
    macs += rate * 7 * channels
    frames = requests * config.patch_size
    return Cost(4.0 * frames * rate, 2.0 * macs * frames)


def measure_rates(device: torch.device, dtype: torch.dtype) -> Rates:
    """Measure a large copy and a large matrix product on random numbers; the best of several runs counts."""
    on_cpu = device.type == "cpu"
    return Rates(_copy_rate(2**25 if on_cpu else 2**29, device), _product_rate(1024 if on_cpu else 8192, device, dtype))


def _copy_rate(numbers: int, device: torch.device) -> float:
    source = torch.empty(numbers, dtype=torch.float32, device=device).normal_()
    target = torch.empty_like(source)
    return 2.0 * numbers * 4 / best_seconds(lambda: target.copy_(source), device)


def _product_rate(side: int, device: torch.device, dtype: torch.dtype) -> float:
    a, b = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    return 2.0 * side**3 / best_seconds(lambda: a @ b, device)


def best_seconds(work: Callable[[], object], device: torch.device, runs: int = 5) -> float:
    """Return the shortest time of several runs, after a warm-up run."""
    best = math.inf
    for _ in range(runs + 1):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
