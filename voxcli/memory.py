"""Memory: detect out-of-memory errors, and find out how much memory there is.

Imports no other module of the package.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Texts of other errors than MemoryError and torch.OutOfMemoryError: torch has no class for CPU memory.
PHRASES = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",  # on Windows
    "std::bad_alloc",
    "bad allocation",  # the same on Windows
    "Cannot allocate memory",  # mmap failed: torch and safetensors quote the system
    "failed to map segment from shared object",  # a library that can't be loaded
    "can't start new thread",  # no memory for its stack
    "out of memory",  # MPS, and CUDA outside torch's allocator
    "CUBLAS_STATUS_ALLOC_FAILED",
)
MEMINFO, OWN_GROUP, CGROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def is_out_of_memory(error: BaseException) -> bool:
    """Return True for an out-of-memory error, of CPU or GPU. A smaller batch may then succeed."""
    kinds = (MemoryError, getattr(sys.modules.get("torch"), "OutOfMemoryError", MemoryError))
    if isinstance(error, kinds) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    return any(phrase in str(error) for phrase in PHRASES)


def total_memory() -> int | None:
    """Return the maximum bytes for this process: RAM and swap, or the limit of its container. None: unknown."""
    limits = [*_cgroup_limits()]
    info = _meminfo()
    if "MemTotal" in info:
        limits.append(info["MemTotal"] + info.get("SwapTotal", 0))
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)


def available_memory() -> int | None:
    """Return the bytes that can be allocated now without swapping. None: unknown."""
    available = _meminfo().get("MemAvailable")
    return None if available is None else min([available, *_cgroup_limits()])


def _meminfo() -> dict[str, int]:
    """Read Linux's /proc/meminfo, in bytes; {} elsewhere."""
    try:
        lines = MEMINFO.read_text().splitlines()
        return {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    except (OSError, ValueError, IndexError):
        return {}


def _cgroup_limits() -> Iterator[int]:
    """Yield limits of this process's cgroup and its parents (version 2), and of the container (version 1)."""
    try:
        [path] = [line[3:] for line in OWN_GROUP.read_text().splitlines() if line.startswith("0::")]
        inner = CGROUPS / path.strip("/")
    except (OSError, ValueError):
        inner = CGROUPS
    groups = [group / "memory.max" for group in (inner, *inner.parents) if group.is_relative_to(CGROUPS)]
    for file in (*groups, CGROUPS / "memory" / "memory.limit_in_bytes"):
        try:
            yield int(file.read_text())
        except (OSError, ValueError):  # missing, or "max"
            continue
