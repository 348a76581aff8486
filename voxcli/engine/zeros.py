"""Zero tensors for tables that are allocated for the largest batch but usually used only in part."""

from __future__ import annotations

import contextlib
import math
import mmap

import torch


def lazy_zeros(*shape: int, device: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return zeros that take memory on a CPU only where they are written; on other devices plain zeros.

    torch.zeros writes all of them. numpy.zeros requests pages of 2 MiB, so every write to a layer would take one.

    Raises MemoryError or OSError if memory runs out.
    """
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or size < mmap.PAGESIZE:
        return torch.zeros(shape, device=device, dtype=dtype)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        memory = mmap.mmap(-1, size, **private)
    except OverflowError as error:  # larger than the address space
        raise MemoryError(f"{size:,} bytes exceed the address space of a process") from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # Linux may be configured to use 2 MiB pages everywhere
        with contextlib.suppress(OSError):  # a kernel built without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)
