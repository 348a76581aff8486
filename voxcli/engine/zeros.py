"""Zeros for tables that are made for the largest batch and mostly used for less."""

from __future__ import annotations

import contextlib
import math
import mmap

import torch


def lazy_zeros(*shape: int, device: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Zeros that take a CPU's memory only where they are written to; on other devices all of it.

    `torch.zeros` writes them all, and numpy asks for pages of 2 MiB, one for each layer's keys and values.
    """
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or size < mmap.PAGESIZE:
        return torch.zeros(shape, device=device, dtype=dtype)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, size, **private)
    except OverflowError as error:  # more than there are addresses
        raise MemoryError(f"{size:,} bytes are more than a process can have") from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # where Linux is set to use pages of 2 MiB for everything
        with contextlib.suppress(OSError):  # a kernel that was built without them
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)
