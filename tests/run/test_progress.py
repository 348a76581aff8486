from __future__ import annotations

import io
import json
import re
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

JOBS = [Job("a#1", "Hello there.", Path("a.wav")), Job("b", "Hello again.", Path("b.wav"))]
LANDED = Result("a#1", "a.wav", "Hello there.", "ok", 10 * PATCH_S, 1.0, 0.6, 10, "stop", 1, 1, 16_000)


@pytest.mark.parametrize("watched", [True, False])
def test_the_display_counts_what_landed_and_what_is_under_way(watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen, engine = Clock(monkeypatch), io.StringIO(), FakeEngine()
    console = Console(file=screen, force_terminal=watched, width=100)
    with Display(make_plan(JOBS), console) as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        assert engine.on_patch is not None
        clock.now += 2
        engine.on_patch({"a#1#0": 9, "b#0": 5})
        engine.on_patch({"b#0": 20})  # the other one waits to be decoded
        if watched:
            assert picture(display, 100).startswith("0/2 lines  ") and "4.6 s of audio  2.3x real time" in picture(
                display
            )
        display.landed(Outcome(JOBS[0], LANDED))
        if watched:
            assert picture(display, 100).startswith("1/2 lines  ") and "4.8 s of audio  2.4x real time" in picture(
                display
            )
        display.notify("look at [this]")
    text = screen.getvalue()
    assert "voxcpm2: look at [this]\n" in text
    if not watched:
        assert text == "voxcpm2: look at [this]\n"


def picture(display: Display, width: int = 100, *, ascii_only: bool = False) -> str:
    """Return the bar's line on a terminal of a width, with spaces at its end."""
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii" if ascii_only else "utf-8")
    console = Console(file=file, force_terminal=True, width=width, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(display._bar)
    (line,) = re.sub(r"\x1b\[[0-9;]*m", "", captured.get()).splitlines()
    assert len(line) == width
    return line


def test_while_a_model_loads_a_spinner_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    display = Display(make_plan(many(12)), Console(file=io.StringIO(), force_terminal=True))
    clock.now += 3
    display.landed(Outcome(many(1)[0], LANDED, before=True))
    for width in (60, 80, 100):
        assert re.fullmatch(r"[⠀-⣿] loading the model  0:03 *", picture(display, width))
        assert re.fullmatch(r"[-|/\\] loading the model  0:03 *", picture(display, width, ascii_only=True))


def shown(monkeypatch: pytest.MonkeyPatch, *, failed: int = 0, doubtful: int = 0) -> tuple[Display, Clock]:
    """Return the display of a run of 12 lines, 5 of which have landed after 11 s."""
    clock, jobs = Clock(monkeypatch), many(12)
    display = Display(make_plan(jobs), Console(file=io.StringIO(), force_terminal=True))
    display.speaking("a fake", PATCH_S)
    clock.now += 11
    for job in jobs[:5]:
        display.landed(Outcome(job, replace(LANDED, id=job.id, duration_s=4.4)))
    display.summary.failed, display.summary.doubtful = failed, doubtful
    display.summary.done -= failed
    display._show()
    return display, clock


@pytest.mark.parametrize(
    ("width", "failed", "doubtful", "expected"),
    [
        (60, 0, 0, ["5/12 lines", "2.0x real time", "0:11 gone, 0:15 left"]),
        (80, 0, 0, ["5/12 lines", "22.0 s of audio", "2.0x real time", "0:11 gone, 0:15 left"]),
        (100, 0, 0, ["5/12 lines", "22.0 s of audio", "2.0x real time", "0:11 gone, 0:15 left"]),
        (60, 2, 1, ["5/12", "2 failed", "1 doubtful", "0:11 gone, 0:15 left"]),
        (80, 2, 1, ["5/12", "2 failed", "1 doubtful", "2.0x real time", "0:11 gone, 0:15 left"]),
        (
            100,
            2,
            1,
            ["5/12 lines", "2 failed", "1 doubtful", "22.0 s of audio", "2.0x real time", "0:11 gone, 0:15 left"],
        ),
        (36, 2, 1, ["5/12", "0:15 left"]),
    ],
)
def test_the_bar_leaves_out_what_does_not_fit(
    width: int, failed: int, doubtful: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    display, _ = shown(monkeypatch, failed=failed, doubtful=doubtful)
    for ascii_only in (False, True):
        line = picture(display, width, ascii_only=ascii_only)
        head, bar, *tail = re.split(r" {2,}", line.strip())
        assert [head, *tail] == expected
        words = sum(map(len, expected)) + 2 * len(expected)
        assert len(bar) == width - words >= 10


def test_the_times_of_the_bar_go_on_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    display, clock = shown(monkeypatch)
    clock.now += 9
    assert picture(display).endswith("0:20 gone, 0:06 left")
    clock.now += 3700
    assert picture(display).endswith("1:02:00 gone, 0:00 left")


def test_the_colors_of_the_bar_are_not_those_of_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    display, _ = shown(monkeypatch, failed=1)
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system="standard", legacy_windows=False)
    with console.capture() as captured:
        console.print(display._bar)
    red = re.findall(r"\x1b\[[0-9;]*31m([^\x1b]*)", captured.get())
    assert "".join(red).strip() == "1 failed"


def test_a_failure_counts_as_a_line_and_makes_no_sound() -> None:
    with Display(make_plan(JOBS), Console(file=io.StringIO())) as display:
        display.landed(failure(JOBS[1], InputError("no"), Path()))
    assert (display.summary.failed, display.summary.audio_s) == (1, 0.0)


def test_a_long_remark_stays_one_line() -> None:
    screen = io.StringIO()
    with Display(make_plan(JOBS), Console(file=screen, width=40)) as display:
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
    with Display(make_plan(jobs), Console(file=screen)) as display:
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
    with Display(make_plan(jobs), Console(file=screen), "json") as display:
        display.started(LoadedEngine(cast(Engine, engine), "a fake", Path()))
        for job in jobs[:3]:
            clock.now += 2
            display.landed(landed(job))
        display.notify("look\nhere")
        display.landed(failure(jobs[3], InputError("no"), Path()))
    told = [json.loads(line) for line in screen.getvalue().splitlines()]
    assert [line.pop("event") for line in told] == ["start", "progress", "progress", "progress", "note", "end"]
    assert told[0] == {"model": "a fake", "lines": 4}
    assert told[2] == {
        "done": 2,
        "failed": 0,
        "doubtful": 0,
        "skipped": 0,
        "left": 2,
        "audio_s": 3.2,
        "wall_s": 4.0,
        "left_s": 4.0,
    }
    assert told[4] == {"message": "look here"}
    assert told[5] == {
        "done": 3,
        "failed": 1,
        "doubtful": 0,
        "skipped": 0,
        "left": 0,
        "audio_s": 4.8,
        "wall_s": 6.0,
        "left_s": 0.0,
    }


def test_nothing_but_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen, jobs, engine = Clock(monkeypatch), io.StringIO(), many(40), FakeEngine()
    with Display(make_plan(jobs), Console(file=screen, force_terminal=True), "none") as display:
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
    with Display(make_plan(JOBS)) as display:
        assert display.watched == watched
        display.landed(Outcome(JOBS[0], LANDED))
        display.notify("look")
    assert ("\x1b[" in screen.getvalue()) == watched
    assert "look" in screen.getvalue()
