from __future__ import annotations

import io
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
