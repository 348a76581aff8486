"""Compute how many workers fit a set of machines and what resources each of them gets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from voxcli.errors import DeviceError, InputError
from voxcli.terminal import counted

USUAL_THREADS = 4  # threads per worker on a CPU: one engine gains little from more
VARIABLE = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Placement:
    """Resources of `count` workers: `cpus`, `gpus` and torch `threads` are per worker."""

    count: int
    cpus: int
    gpus: int
    threads: int
    device: str

    def __str__(self) -> str:
        each = "one GPU" if self.gpus else counted(self.threads, "thread")
        return f"{counted(self.count, 'worker')} with {each}{' each' if self.count > 1 else ''}"


def place_workers(count: int | None, device: str, nodes: Sequence[tuple[int, int]], *, alone: bool) -> Placement:
    """Place one worker per GPU, or per share of the CPU cores if there is no GPU or the device is "cpu".

    count: number of workers; None: one per GPU, or one per USUAL_THREADS cores of a machine, at least one.
    nodes: (cores, GPUs) of each machine.
    alone: only this machine is used; its cores may be shared by several workers.

    On a CPU, OMP_NUM_THREADS sets the threads per worker: on some processors the last bits of the audio depend on it
    (`voxcpm2 doctor` reports where).
    Raises InputError when the workers do not fit, DeviceError for a device that does not exist.
    """
    if device.startswith("cuda:"):
        raise DeviceError(f"--device {device} names one GPU, but each worker has its own; use --device cuda")
    cores, gpus = sum(cpus for cpus, _ in nodes), sum(gpus for _, gpus in nodes)
    if device == "cuda" and not gpus:
        raise DeviceError("Ray finds no GPU here; use --device cpu, or see `voxcpm2 doctor`")
    if gpus and device in ("auto", "cuda"):
        if count is not None and count > gpus:
            raise InputError(f"--workers {count} exceeds the number of GPUs ({gpus}); each worker needs one")
        return Placement(count or gpus, 0, 1, max(1, cores // gpus), "cuda")
    fixed = _threads_from_environment()
    if count is None:
        threads = fixed or min(USUAL_THREADS, max(cpus for cpus, _ in nodes))
        count = max(1, _room(nodes, threads))
    else:
        threads = fixed or max(1, cores // count)
        while not fixed and threads > 1 and _room(nodes, threads) < count:
            threads -= 1
    if alone:
        return Placement(count, 0, 0, threads, device)
    if (room := _room(nodes, threads)) < count:
        raise InputError(
            f"the cluster's cores have room for {counted(room, 'worker')} with {counted(threads, 'thread')} each, "
            f"not {count}; lower --workers"
        )
    return Placement(count, threads, 0, threads, "cpu" if device == "auto" else device)


def _room(nodes: Sequence[tuple[int, int]], threads: int) -> int:
    return sum(cpus // threads for cpus, _ in nodes)


def _threads_from_environment() -> int:
    """Return OMP_NUM_THREADS, or 0 if it is not set to a number."""
    value = os.environ.get(VARIABLE, "")
    return int(value) if value.isdecimal() else 0
