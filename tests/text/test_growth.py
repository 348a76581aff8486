"""The time of a text grows with its size, not with the square of it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.text.hostile import HOSTILE
from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import prepare

ROOT = Path(__file__).parent.parent.parent
SIZES = (10_000, 20_000, 40_000, 80_000, 160_000)
CPU_S = 200  # all texts of the largest size take about 10; one that grew with the square took minutes to hours


def plan(name: str, size: int) -> None:
    """The whole way of a text from a manifest to pieces."""
    with suppress(InputError):  # marks alone are refused, after the same work
        prepare(Job(id="a", text=HOSTILE[name](size), out=Path("a.wav")))


def main() -> None:
    for name in HOSTILE:
        print(name, flush=True)
        plan(name, SIZES[-1])


def test_hostile_texts_are_planned_in_bounded_time() -> None:
    """In a process that the system ends when it takes CPU_S seconds of CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.text.test_growth import main; main()"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
    )
    assert done.stdout.splitlines() == list(HOSTILE), "the last one took too long"
    assert done.returncode == 0


@pytest.mark.slow
def test_growth() -> None:
    """For figures, with -s: seconds of CPU time by size. It decides nothing."""
    print(f"\n{'seconds at':26}" + "".join(f"{size:>9,}" for size in SIZES))
    for name in HOSTILE:
        print(f"{name:26}" + "".join(f"{_seconds(name, size):9.2f}" for size in SIZES), flush=True)


def _seconds(name: str, size: int) -> float:
    began = time.process_time()
    plan(name, size)
    return time.process_time() - began
