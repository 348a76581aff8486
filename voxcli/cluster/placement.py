"""How many workers a set of machines has room for, and what each of them gets. Pure arithmetic."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from voxcli.errors import DeviceError, InputError
from voxcli.terminal import counted

USUAL_THREADS = (
    4  # a worker's on a CPU: beyond, the threads of one engine wait for each other more than they speed it up
)
VARIABLE = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Placement:
    """count workers; each asks for cpus and gpus, and has so many threads of torch on `device`."""

    count: int
    cpus: int
    gpus: int
    threads: int
    device: str

    def __str__(self) -> str:
        each = "one GPU" if self.gpus else counted(self.threads, "thread")
        return f"{counted(self.count, 'worker')} with {each}{' each' if self.count > 1 else ''}"


def place_workers(count: int | None, device: str, nodes: Sequence[tuple[int, int]], *, alone: bool) -> Placement:
    """One engine for each GPU, or for a share of the cores where there is none (or --device says cpu).

    count: as asked for; None: one for each GPU, or for every USUAL_THREADS cores of a machine, at least one.
    nodes: cores and GPUs of each machine.  alone: it is this machine, whose cores may be given out more than once.

    On a CPU the number of threads is that of OMP_NUM_THREADS where that is set: on some processors the last bits of a
    sound depend on it (`voxcpm2 doctor` says where).
    Raises InputError for more than there is room for, DeviceError for a device that is not there.
    """
    if device.startswith("cuda:"):
        raise DeviceError(f"--device {device} names one GPU, and workers have one each; say --device cuda")
    cores, gpus = sum(cpus for cpus, _ in nodes), sum(gpus for _, gpus in nodes)
    if device == "cuda" and not gpus:
        raise DeviceError("no GPU is known to Ray here; use --device cpu, or see `voxcpm2 doctor`")
    if gpus and device in ("auto", "cuda"):
        if count is not None and count > gpus:
            raise InputError(f"--workers {count} are more than the {gpus} GPUs that are here; each has one")
        return Placement(count or gpus, 0, 1, max(1, cores // gpus), "cuda")
    said = _threads_said()
    if count is None:
        threads = said or min(USUAL_THREADS, max(cpus for cpus, _ in nodes))
        count = max(1, _room(nodes, threads))
    else:
        threads = said or max(1, cores // count)
        while not said and threads > 1 and _room(nodes, threads) < count:
            threads -= 1
    if alone:
        return Placement(count, 0, 0, threads, device)
    if (room := _room(nodes, threads)) < count:
        raise InputError(
            f"--workers {count} of {threads} threads are more than the cluster's cores have room for ({room})"
        )
    return Placement(count, threads, 0, threads, "cpu" if device == "auto" else device)


def _room(nodes: Sequence[tuple[int, int]], threads: int) -> int:
    return sum(cpus // threads for cpus, _ in nodes)


def _threads_said() -> int:
    """0 when nothing was said."""
    said = os.environ.get(VARIABLE, "")
    return int(said) if said.isdecimal() else 0
