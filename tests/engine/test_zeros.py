"""Tables take only as much memory as is used of them."""

from __future__ import annotations

import mmap
import sys

import numpy as np
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
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/pagemap")


def resident(*tables: torch.Tensor) -> int:
    """Return the bytes of the tables that are in memory. Counts their pages, because the process's total fluctuates."""
    pages = 0
    with open("/proc/self/pagemap", "rb") as pagemap:
        for table in tables:
            first, end = table.data_ptr() // mmap.PAGESIZE, -(-(table.data_ptr() + table.nbytes) // mmap.PAGESIZE)
            pagemap.seek(first * 8)
            entries = np.frombuffer(pagemap.read((end - first) * 8), np.uint64)
            pages += np.count_nonzero(entries >> np.uint64(62))  # in memory, or swapped out
    return pages * mmap.PAGESIZE


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("shape", [(3,), (5, 7, 11), (64, 1000)])
def test_lazy_zeros_are_zeros_and_writable(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    zeros = lazy_zeros(*shape, device=CPU, dtype=dtype)
    assert torch.equal(zeros, torch.zeros(shape, dtype=dtype))
    zeros[-1] = 3
    assert zeros.double().sum().item() == 3 * zeros[-1].numel()


@linux_only
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_full_models_cache_takes_memory_as_pages_are_used(dtype: torch.dtype) -> None:
    config = ModelConfig.model_validate(VOXCPM2)
    cache = Cache.create(config, 1000, CPU, dtype)
    tables = cache.base, cache.residual
    size = sum(table.nbytes for table in tables)
    assert size > 500 * MIB
    assert resident(*tables, cache.latents) < MIB
    for table in tables:
        table[:, :, 1:4] = 1
    assert size * 3 / 1000 <= resident(*tables) < size * 3 / 1000 + 2 * MIB  # pages at the ends of each layer's part


@linux_only
def test_unused_rows_take_no_memory(tiny_model: VoxCPM2) -> None:
    state = Engine(tiny_model, EngineConfig(max_batch=20_000, pages=16)).state
    assert state.noise.nbytes > 30 * MIB
    assert resident(state.noise, state.cond, state.mu, state.host_table) < MIB


def test_a_size_beyond_the_address_space_counts_as_out_of_memory() -> None:
    for size in (1 << 50, 1 << 70):
        with pytest.raises((MemoryError, OSError)) as caught:
            lazy_zeros(size, device=CPU)
        assert is_out_of_memory(caught.value)
