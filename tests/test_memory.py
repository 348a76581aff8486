from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
import torch

from voxcli import memory
from voxcli.errors import DeviceError
from voxcli.memory import available_memory, is_out_of_memory, total_memory


@pytest.mark.parametrize(
    ("error", "ran_out"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 8 bytes"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("unable to mmap 9 bytes from file <m>: Cannot allocate memory (12)"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), True),
        (OSError(errno.ENOMEM, "no words"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("shape '[2]' is invalid for input of size 3"), False),
        (ImportError("libcudart.so.12: cannot open shared object file"), False),
    ],
)
def test_errors_that_mean_out_of_memory(error: Exception, ran_out: bool) -> None:
    assert is_out_of_memory(error) == ran_out


@pytest.mark.parametrize("take", [torch.empty, np.zeros, lambda size: [None] * size])
def test_errors_of_libraries_for_excessive_sizes_are_recognized(take) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Exception) as caught:
        take(1 << 55)
    assert is_out_of_memory(caught.value), repr(caught.value)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine with 16 GiB, 4 GiB of them free, and 2 GiB of swap. Returns the folder of its cgroups."""
    groups = tmp_path / "cgroup"
    groups.mkdir()
    (tmp_path / "meminfo").write_text(
        "MemTotal:       16777216 kB\nMemAvailable:    4194304 kB\nSwapTotal:       2097152 kB\nHugePages_Total: 0\n"
    )
    (tmp_path / "own").write_text("1:cpu:/\n0::/outer/inner\n")
    for name, path in (("MEMINFO", "meminfo"), ("OWN_GROUP", "own"), ("CGROUPS", "cgroup")):
        monkeypatch.setattr(memory, name, tmp_path / path)
    return groups


def gib(value: int | None) -> float | None:
    return None if value is None else value / 2**30


def test_memory_of_the_machine(machine: Path) -> None:
    assert (gib(total_memory()), gib(available_memory())) == (18, 4)


@pytest.mark.parametrize("group", ["outer", "outer/inner", ""])
def test_memory_of_a_container(machine: Path, group: str) -> None:
    (machine / "outer" / "inner").mkdir(parents=True)
    (machine / "outer" / "inner" / "memory.max").write_text("max\n")
    (machine / group / "memory.max").write_text(f"{3 * 2**30}\n")
    assert (gib(total_memory()), gib(available_memory())) == (3, 3)


def test_memory_of_a_container_with_cgroups_v1(machine: Path) -> None:
    (machine / "memory").mkdir()
    (machine / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert gib(total_memory()) == 18
    (machine / "memory" / "memory.limit_in_bytes").write_text(f"{5 * 2**30}\n")
    assert (gib(total_memory()), gib(available_memory())) == (5, 4)


def test_unknown_memory(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MEMINFO", machine / "nowhere")
    monkeypatch.setattr("os.sysconf_names", {})
    assert (total_memory(), available_memory()) == (None, None)


def test_weights_larger_than_the_total_memory_are_refused_before_they_are_read(
    machine: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check, the system would kill the process while it loads."""
    from voxcli.model.weights import load_model

    (machine / "memory.max").write_text("100000\n")
    monkeypatch.setattr("voxcli.model.weights.open_weights", lambda *_: pytest.fail("weights were opened"))
    with pytest.raises(DeviceError, match=r"does not fit into memory: its weights take .* in float32"):
        load_model(tiny_checkpoint, device="cpu")
