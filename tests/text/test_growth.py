"""Planning a text takes linear time, not quadratic.

The tests count executed lines; `test_linear.py` counts the steps of regular expressions. Quadratic work that neither
counts, such as copying a string repeatedly, takes minutes to hours at the size that is tried, where all texts together
take 10 seconds. Figures: `python -m tests.text.test_growth`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting import lines_run
from tests.text.hostile import HOSTILE
from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import prepare

ROOT = Path(__file__).parent.parent.parent
SIZES = (10_000, 20_000, 40_000, 80_000, 160_000)
TRIED = SIZES[-2]
CPU_S = 150
SMALL, TIMES = 1_000, 4
MAX_GROWTH = 1.5 * TIMES  # of the executed lines: TIMES is linear, its square quadratic


def plan(text: str) -> None:
    """Plan a text: all that happens to it before it is spoken."""
    with suppress(InputError):  # texts of punctuation are rejected, after the same work
        prepare(Job(id="a", text=text, out=Path("a.wav")))


def main() -> None:
    for name, text in HOSTILE.items():
        print(name, flush=True)
        plan(text(TRIED))


@pytest.mark.slow
def test_hostile_texts_are_planned_in_bounded_time() -> None:
    """Runs in a process that the system kills after CPU_S seconds of CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.text.test_growth import main; main()"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
    )
    assert done.stdout.splitlines() == list(HOSTILE), "the last one took too long"
    assert done.returncode == 0


def lines_of_plan(text: str) -> int:
    return lines_run(partial(plan, text))


@pytest.mark.parametrize("name", HOSTILE)
def test_loops_are_linear(name: str) -> None:
    small, large = (lines_of_plan(HOSTILE[name](size)) for size in (SMALL, TIMES * SMALL))
    assert large <= MAX_GROWTH * small


def test_a_quadratic_loop_is_found() -> None:
    def looks_back_from_each(text: str) -> list[int]:
        return [text.count("a", 0, end) for place, _ in enumerate(text) if place % 8 == 0 for end in range(0, place, 8)]

    small, large = (lines_run(partial(looks_back_from_each, "a" * size)) for size in (SMALL, TIMES * SMALL))
    assert large > MAX_GROWTH * small


MARKS = [*" \n\t.!?,;:-*_=#|`~<>()[]{}\"'/@&\u2026\u20131aA\u597d\u3002\u300d\u0301\u200d", "<b>", "&amp;", "www."]
FEW = st.lists(st.sampled_from(MARKS), max_size=3).map("".join)


@settings(max_examples=60, deadline=None)
@given(head=FEW, unit=FEW.filter(bool), tail=FEW)
def test_loops_are_linear_for_any_repetition(head: str, unit: str, tail: str) -> None:
    small, large = (lines_of_plan(head + unit * (times * SMALL // len(unit)) + tail) for times in (1, TIMES))
    assert large <= MAX_GROWTH * small


def figures() -> None:
    """Print seconds of CPU time by size."""
    print(f"{'seconds at':26}" + "".join(f"{size:>9,}" for size in SIZES))
    for name in HOSTILE:
        print(f"{name:26}" + "".join(f"{_seconds(HOSTILE[name](size)):9.2f}" for size in SIZES), flush=True)


def _seconds(text: str) -> float:
    began = time.process_time()
    plan(text)
    return time.process_time() - began


if __name__ == "__main__":
    figures()
