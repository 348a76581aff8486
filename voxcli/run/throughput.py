"""Estimate synthesis speed, from the results of a folder or from the last run on this machine.

A dry run uses it to predict how long a run will take, without loading a model.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from voxcli.engine.load import ModelOptions
from voxcli.errors import OutputError
from voxcli.files.user_dirs import data_folder
from voxcli.files.write import make_folder, write_atomic
from voxcli.jobs.result import Result
from voxcli.model.hub import VARIABLE

MAX_GAP_S = 120.0  # a longer gap between two lines is the time between two runs
MIN_LINES = 2  # a single line says nothing about the speed of a batch
FILE_NAME = "speeds.json"
MIN_S = 20.0  # minimum audio of a run: with less, startup dominates the time


def pace(results: Iterable[Result]) -> float | None:
    """Return the speed of a batch in seconds of audio per second; None if there are too few results.

    Files finish in bursts, so a run is measured from the start of its first line in the engine to its last file.
    """
    worked = sorted(
        (end - result.wall_s, end, result.duration_s or 0.0)
        for result in results
        if result.ok and result.finished and result.wall_s is not None
        for end in (datetime.fromisoformat(result.finished).timestamp(),)
    )
    wall, until = 0.0, -math.inf
    for start, end, _ in worked:
        begin = start if start - until > MAX_GAP_S else until
        wall += max(0.0, end - begin)
        until = max(until, end)
    return sum(made for *_, made in worked) / wall if len(worked) >= MIN_LINES and wall > 0 else None


def speed_of(options: ModelOptions) -> float | None:
    """Return the speed of the last run with these options in seconds of audio per second; None if there was none."""
    speed = _read().get(_key(options))
    return float(speed) if isinstance(speed, int | float) and 0 < speed < 1e6 else None


def remember(options: ModelOptions, audio_s: float, wall_s: float) -> None:
    """Save the speed for the next dry run. Errors are ignored: nothing depends on it."""
    if audio_s >= MIN_S and wall_s > 0:
        speeds = _read() | {_key(options): round(audio_s / wall_s, 3)}
        with suppress(OutputError):
            make_folder(data_folder())
            write_atomic(data_folder() / FILE_NAME, json.dumps(speeds, indent=1).encode())


def _key(options: ModelOptions) -> str:
    """Identify the options as given; what they resolve to is known only after a model is loaded."""
    return f"{options.model or os.environ.get(VARIABLE) or ''} {options.device} {options.dtype}"


def _read() -> dict[str, object]:
    with suppress(OSError, ValueError):
        speeds = json.loads((data_folder() / FILE_NAME).read_bytes())
        return speeds if isinstance(speeds, dict) else {}
    return {}
