from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from tests.run.fakes import PATCH_S, FakeEngine
from voxcli.engine.engine import Engine
from voxcli.engine.load import LoadedEngine
from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Outcome, Result, failure
from voxcli.run.progress import Display
from voxcli.run.summary import Summary

JOBS = [Job("a#1", "Hello there.", Path("a.wav")), Job("b", "Hello again.", Path("b.wav"))]
LANDED = Result("a#1", "a.wav", "Hello there.", "ok", 10 * PATCH_S, 1.0, 0.6, 10, "stop", 1, 1, 16_000)


@pytest.mark.parametrize("watched", [True, False])
def test_the_display_counts_what_landed_and_what_is_under_way(watched: bool) -> None:
    screen = io.StringIO()
    engine = FakeEngine()
    console = Console(file=screen, force_terminal=watched, width=100)
    with Display(Summary(), make_plan(JOBS), console) as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        assert engine.on_patch is not None
        engine.on_patch({"a#1#0": 9, "b#0": 5})
        engine.on_patch({"b#0": 20})  # the other one waits to be decoded
        (task,) = display._progress.tasks
        if watched:
            assert task.fields["made"].startswith("4.6 s of audio, RTF ")  # 29 patches
            assert task.description == "0/2 lines"
        display.landed(Outcome(JOBS[0], LANDED))
        if watched:
            assert task.fields["made"].startswith("4.8 s of audio, RTF ")  # 10 finished, 20 in progress
            assert task.description == "1/2 lines"
            assert task.completed == pytest.approx(len("Hello there.") / 15 + 20 * PATCH_S)
        display.notify("look at [this]")
    text = screen.getvalue()
    assert "voxcpm2: look at [this]\n" in text
    if not watched:
        assert text == "voxcpm2: look at [this]\n"


def test_a_failure_counts_as_a_line_and_makes_no_sound() -> None:
    with Display(Summary(), make_plan(JOBS), Console(file=io.StringIO())) as display:
        display.landed(failure(JOBS[1], InputError("no"), Path()))
    assert (display.summary.failed, display.summary.audio_s) == (1, 0.0)


def test_a_long_remark_stays_one_line() -> None:
    screen = io.StringIO()
    with Display(Summary(), make_plan(JOBS), Console(file=screen, width=40)) as display:
        display.notify("x" * 200)
    assert screen.getvalue() == f"voxcpm2: {'x' * 200}\n"


class Clock:
    """The time as the display sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now = 100.0
        monkeypatch.setattr("voxcli.run.progress.monotonic", lambda: self.now)
        monkeypatch.setattr("voxcli.run.summary.perf_counter", lambda: self.now)


def many(count: int) -> list[Job]:
    return [Job(str(number), "Hello there.", Path(f"{number}.wav")) for number in range(count)]


def landed(job: Job) -> Outcome:
    return Outcome(job, replace(LANDED, id=job.id))


def test_without_a_terminal_there_is_a_line_at_each_tenth_and_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen, jobs, engine = Clock(monkeypatch), io.StringIO(), many(40), FakeEngine()
    with Display(Summary(), make_plan(jobs), Console(file=screen)) as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        for job in jobs[:8]:  # two tenths, in 80 s
            clock.now += 10
            display.landed(landed(job))
        display.running({"8#0": 10})
        clock.now += 61  # a long line
        display.running({"8#0": 20})
        display.landed(failure(jobs[8], InputError("no"), Path()))
        for job in jobs[9:]:  # the rest, in no time: nothing is told that the summary tells
            display.landed(landed(job))
    assert screen.getvalue().splitlines() == [
        "voxcpm2: 4 of 40 lines done, 0 failed, 36 left; 6.4 s of audio in 40.0 s, about 6 min 00 s to go",
        "voxcpm2: 8 of 40 lines done, 0 failed, 32 left; 12.8 s of audio in 1 min 20 s, about 5 min 20 s to go",
        "voxcpm2: 8 of 40 lines done, 0 failed, 32 left; 16.0 s of audio in 2 min 21 s, about 5 min 29 s to go",
    ]


def test_programs_get_an_object_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen, jobs, engine = Clock(monkeypatch), io.StringIO(), many(4), FakeEngine()
    with Display(Summary(), make_plan(jobs), Console(file=screen), "json") as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        for job in jobs[:3]:
            clock.now += 2
            display.landed(landed(job))
        display.notify("look\nhere")
        display.landed(failure(jobs[3], InputError("no"), Path()))
    told = [json.loads(line) for line in screen.getvalue().splitlines()]
    assert [line.pop("event") for line in told] == ["start", "progress", "progress", "progress", "note", "end"]
    assert told[0] == {"model": "a fake", "lines": 4}
    assert told[2] == {"done": 2, "failed": 0, "skipped": 0, "left": 2, "audio_s": 3.2, "wall_s": 4.0, "left_s": 4.0}
    assert told[4] == {"message": "look here"}
    assert told[5] == {"done": 3, "failed": 1, "skipped": 0, "left": 0, "audio_s": 4.8, "wall_s": 6.0, "left_s": 0.0}


def test_nothing_but_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen, jobs, engine = Clock(monkeypatch), io.StringIO(), many(40), FakeEngine()
    with Display(Summary(), make_plan(jobs), Console(file=screen, force_terminal=True), "none") as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        for job in jobs:
            clock.now += 100
            display.landed(landed(job))
        display.notify("look")
    assert screen.getvalue() == "voxcpm2: look\n"


@pytest.mark.parametrize(
    ("variables", "isatty", "watched"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, False),
        ({"TTY_COMPATIBLE": "1"}, False, False),
        ({"NO_COLOR": "1"}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], isatty: bool, watched: bool
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return isatty

    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    screen = Stream()
    monkeypatch.setattr("sys.stderr", screen)
    with Display(Summary(), make_plan(JOBS)) as display:
        assert display.watched == watched
        display.landed(Outcome(JOBS[0], LANDED))
        display.notify("look")
    assert ("\x1b[" in screen.getvalue()) == watched
    assert "look" in screen.getvalue()
