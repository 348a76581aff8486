"""Measure the speed of workers with the demo voice on CPUs: `pytest -m long -s tests/cli/test_many.py`.

    VOXCPM2_LINES         number of lines (400); with fewer, files are compared, but no figure is checked
    VOXCPM2_KILL_EVERY_S  seconds between two kills of a worker (20)
    VOXCPM2_ROUNDS        how often no worker and one worker are measured, alternating (1)

One torch thread everywhere. Times count from the start of the first line to the last file.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import children
from tests.cluster.pools import workers_of
from voxcli.model.hub import demo_folder

pytest.importorskip("ray", reason="needs the extra `ray`")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks for processes in /proc"),
    pytest.mark.skipif(demo_folder() is None, reason="the demo voice is not here"),
]

FULL = 400
COUNT = int(os.environ.get("VOXCPM2_LINES", FULL))
KILL_EVERY_S = float(os.environ.get("VOXCPM2_KILL_EVERY_S", "20"))
ROUNDS = int(os.environ.get("VOXCPM2_ROUNDS", "1"))
TALE = "the river ran under an old stone bridge and nobody on it could remember when it had been built"


class Run(NamedTuple):
    """speaking: seconds from the first line to the last file.  whole: seconds of the command.  err: its stderr."""

    results: dict[str, dict[str, Any]]
    files: dict[str, bytes]
    speaking: float
    whole: float
    err: str


Speak = Callable[..., Run]


@pytest.fixture(scope="module")
def speak(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Speak:
    folder = tmp_path_factory.mktemp("many")
    rng = random.Random(7)
    rows = []
    for n in range(COUNT):
        words = " ".join(rng.choice(TALE.split()) for _ in range(rng.randint(3, 20)))
        rows.append({"id": f"line-{n:04d}", "text": f"{words.capitalize()}.", "seed": n, "max_seconds": 12})
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(repository), "VOXCPM2_MODEL": str(demo_folder())}
    environment["OMP_NUM_THREADS"] = "1"

    def run(name: str, *options: str, meanwhile: Callable[[subprocess.Popen[str]], None] | None = None) -> Run:
        command = [*children.VOXCPM2, "batch", "lines.jsonl", "-o", name, "--allow-truncated", *options]
        began = time.perf_counter()
        with children.start(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
            if meanwhile is not None:
                threading.Thread(target=meanwhile, args=(process,), daemon=True).start()
            err = process.communicate()[1]
        whole = time.perf_counter() - began
        assert process.returncode == 0, err
        lines = (folder / name / "results.jsonl").read_text(encoding="utf-8").splitlines()
        results = {result["id"]: result for result in map(json.loads, lines)}
        assert len(lines) == len(results) == COUNT, "each line once"
        files = {path.stem: path.read_bytes() for path in (folder / name).glob("*.wav")}
        assert len(files) == COUNT
        assert len(list((folder / name).iterdir())) == COUNT + 1, "no partial or temporary file is left"
        return Run(results, files, span(results), whole, err)

    return run


def span(results: dict[str, dict[str, Any]]) -> float:
    """Return seconds from the start of the first line in an engine to the last file."""
    ends = {name: datetime.fromisoformat(result["finished"]).timestamp() for name, result in results.items()}
    return max(ends.values()) - min(end - results[name]["wall_s"] for name, end in ends.items())


@pytest.fixture(scope="module")
def one(speak: Speak) -> Run:
    return speak("one", "--workers", "1")


def same_but_for_times(run: Run, other: Run) -> bool:
    times = {"wall_s": 0, "rtf": 0, "finished": 0}
    return run.files == other.files and all(
        result | times == other.results[name] | times for name, result in run.results.items()
    )


def only_of_full_runs() -> None:
    if COUNT < FULL:
        pytest.skip(f"the same files; figures of fewer than {FULL} lines say too little")


def test_two_workers_are_twice_as_fast_and_make_the_same_files(speak: Speak, one: Run) -> None:
    two = speak("two", "--workers", "2")
    ratio = one.speaking / two.speaking
    audio = sum(result["duration_s"] for result in one.results.values())
    print(
        f"\n{COUNT} lines, {audio:.0f} s of audio: 1 worker {one.speaking:.1f} s ({COUNT / one.speaking:.2f} lines/s), "
        f"2 workers {two.speaking:.1f} s ({COUNT / two.speaking:.2f} lines/s): {ratio:.2f} times; the commands took "
        f"{one.whole:.1f} and {two.whole:.1f} s; files identical: {one.files == two.files}"
    )
    assert same_but_for_times(two, one)
    only_of_full_runs()
    assert ratio >= 1.8


def test_one_worker_costs_little_beside_the_plain_path(speak: Speak, one: Run) -> None:
    """Runs alternate and the fastest of each counts, because other work on the machine slows runs down."""
    workers, plains = [one], []
    for n in range(ROUNDS):
        plains.append(speak(f"plain-{n}"))
        if n:
            workers.append(speak(f"one-{n}", "--workers", "1"))
    plain, worker = (min(runs, key=lambda run: run.speaking) for runs in (plains, workers))
    overhead = worker.speaking / plain.speaking - 1
    print(
        f"\n{COUNT} lines: plain {' '.join(f'{run.speaking:.1f}' for run in plains)} s, with one worker "
        f"{' '.join(f'{run.speaking:.1f}' for run in workers)} s: {overhead:+.1%}; the commands took {plain.whole:.1f} "
        f"and {worker.whole:.1f} s; files identical: {plain.files == worker.files}"
    )
    assert all(same_but_for_times(run, plain) for run in (*plains, *workers))
    only_of_full_runs()
    assert overhead < 0.05


def test_a_worker_killed_every_few_seconds_costs_time_and_nothing_else(speak: Speak, one: Run) -> None:
    killed = []
    rng = random.Random(8)

    def kill(process: subprocess.Popen[str]) -> None:
        began = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            if time.monotonic() - began > KILL_EVERY_S * (len(killed) + 1) and (found := workers_of(process.pid)):
                victim = rng.choice(found)
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    run = speak("killed", "--workers", "2", meanwhile=kill)
    died = run.err.count(" died: ")
    print(
        f"\n{COUNT} lines, 2 workers, one killed every {KILL_EVERY_S:g} s: {len(killed)} killed, {died} reported, "
        f"all lines done in {run.speaking:.1f} s; files identical to those of one worker: {run.files == one.files}"
    )
    assert same_but_for_times(run, one)
    assert len(killed) >= 1 and died <= len(killed)
