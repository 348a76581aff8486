"""How fast lines are spoken: by a folder's own results, and on this machine last time, kept beside the voices.

Both tell, before a model is loaded, about how long the rest will take.
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

MAX_GAP_S = 120.0  # more from a file to the next start was no work but the time between two runs
MIN_LINES = 2  # lines that tell what neighbours do to each other
FILE_NAME = "speeds.json"
MIN_S = 20.0  # of audio: less says more of the start than of the speed


def pace(results: Iterable[Result]) -> float | None:
    """Seconds of audio made in a second, beside all neighbours; None when too little has been made to tell.

    Files land in bursts: a run lasts from the start of its first line in the engine to the last file.
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
    """Seconds of audio in a second, in the last run with these options; None when there was none."""
    speed = _read().get(_key(options))
    return float(speed) if isinstance(speed, int | float) and 0 < speed < 1e6 else None


def remember(options: ModelOptions, audio_s: float, wall_s: float) -> None:
    """For the next dry run. Nothing is said where it can't be kept: nothing depends on it."""
    if audio_s >= MIN_S and wall_s > 0:
        speeds = _read() | {_key(options): round(audio_s / wall_s, 3)}
        with suppress(OutputError):
            make_folder(data_folder())
            write_atomic(data_folder() / FILE_NAME, json.dumps(speeds, indent=1).encode())


def _key(options: ModelOptions) -> str:
    """What was asked for: what it comes to shows only when a model is loaded."""
    return f"{options.model or os.environ.get(VARIABLE) or ''} {options.device} {options.dtype}"


def _read() -> dict[str, object]:
    with suppress(OSError, ValueError):
        speeds = json.loads((data_folder() / FILE_NAME).read_bytes())
        return speeds if isinstance(speeds, dict) else {}
    return {}
