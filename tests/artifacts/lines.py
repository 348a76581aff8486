"""Finished and failed lines with their files, for tests of the report page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from voxcli.artifacts.page import PageInfo, write_page
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result

RATE = 16_000
HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">&amp; ' \" </td>"


def line(folder: Path, identity: str, text: str, seconds: float = 0.0, **values: Any) -> tuple[Job, Result]:
    """Make a finished line with its file, or a failed one without.

    values: fields of the result; `job`: those of the job.
    """
    shown = values.pop("out", f"speech/{identity}.wav")
    out = folder / shown
    job = Job(identity, text, out, **values.pop("job", {}))
    if not seconds:
        return job, Result(identity, shown, text, "failed", error="no voice <b>")
    out.parent.mkdir(exist_ok=True)
    tone = 0.5 * np.sin(np.arange(round(seconds * RATE)) / 10) * np.linspace(0, 1, round(seconds * RATE))
    soundfile.write(out, tone, RATE)
    values = {"seed": 7, "rtf": 0.5, "attempts": 1, "stop_reason": "stop", "status": "ok", **values}
    return job, Result(identity, shown, text, duration_s=seconds, **values)


def five(folder: Path) -> list[tuple[Job, Result]]:
    """Make a failed line, one with warnings, and three fine ones."""
    return [
        line(folder, "b #1 '&", "Banana.", 2.0, seed=2**62 + 1, job={"voice": folder / "joe.safetensors"}),
        line(folder, "a", HOSTILE, 0.8, seed=8, job={"extra": {"Character": "Anna", "scene": 3}}),
        line(folder, "c", "Cherry. " * 100, 10.0, seed=9, job={"extra": {"Character": "Guard"}, "control": "gruff"}),
        line(folder, "bad", HOSTILE),
        line(folder, "again", "Apple.", 1.0, seed=5, attempts=3, warnings=("quiet voice",)),
    ]


def page(folder: Path, lines: list[tuple[Job, Result]], title: str = "A run") -> Path:
    write_page(folder / "report.html", PageInfo(title, folder / "speech", "demo voice on cpu"), lines)
    return folder / "report.html"


def take(made: tuple[Job, Result], number: int, **values: Any) -> tuple[Job, Result]:
    """Return another take of a line that shares its file. values: fields of the result."""
    job, result = made
    fields = {**vars(result), "seed": 100 * number, **values}
    return job, Result(**fields)


def data_of(text: str) -> Any:
    """Return the data of a page, read as a browser reads them: up to the next end of a script."""
    return json.loads(text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
