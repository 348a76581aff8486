"""Tables for the largest batch cost what is used of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from voxcli.engine.engine import Engine, EngineConfig
from voxcli.engine.pages import Cache
from voxcli.engine.zeros import lazy_zeros
from voxcli.memory import is_out_of_memory
from voxcli.model.config import ModelConfig
from voxcli.model.random import VOXCPM2
from voxcli.model.voxcpm2 import VoxCPM2

CPU, MIB = torch.device("cpu"), 2**20
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory the process has")


def resident() -> int:
    """Bytes of memory that this process has of its own."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("shape", [(3,), (5, 7, 11), (64, 1000)])
def test_they_are_zeros(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    zeros = lazy_zeros(*shape, device=CPU, dtype=dtype)
    assert torch.equal(zeros, torch.zeros(shape, dtype=dtype))
    zeros[-1] = 3
    assert zeros.double().sum().item() == 3 * zeros[-1].numel()


@linux_only
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_full_models_cache_takes_memory_as_pages_are_used(dtype: torch.dtype) -> None:
    config = ModelConfig.model_validate(VOXCPM2)
    before = resident()
    cache = Cache.create(config, 1000, CPU, dtype)
    size = cache.base.nbytes + cache.residual.nbytes
    assert size > 500 * MIB
    assert resident() - before < 4 * MIB
    cache.base[:, :, 1:4] = 1
    cache.residual[:, :, 1:4] = 1
    assert 0.9 * size * 3 / 1000 < resident() - before < size * 3 / 1000 + 8 * MIB


@linux_only
def test_rows_that_nobody_uses_take_none(tiny_model: VoxCPM2) -> None:
    before = resident()
    engine = Engine(tiny_model, EngineConfig(max_batch=20_000, pages=16))
    assert engine.state.noise.nbytes > 30 * MIB
    assert resident() - before < 12 * MIB


def test_more_than_there_are_addresses_is_memory_that_ran_out() -> None:
    for size in (1 << 50, 1 << 70):
        with pytest.raises((MemoryError, OSError)) as caught:
            lazy_zeros(size, device=CPU)
        assert is_out_of_memory(caught.value)
