"""How fast this machine spoke last: by it a dry run tells how long a new folder will take. Kept beside the voices."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from voxcli.engine.load import ModelOptions
from voxcli.errors import OutputError
from voxcli.files.user_dirs import data_folder
from voxcli.files.write import make_folder, write_atomic
from voxcli.model.hub import VARIABLE

FILE_NAME = "speeds.json"
FEWEST_S = 20.0  # of audio: less says more of the start than of the speed


def speed_of(options: ModelOptions) -> float | None:
    """Seconds of audio in a second, in the last run with these options; None when there was none."""
    speed = _read().get(_key(options))
    return float(speed) if isinstance(speed, int | float) and 0 < speed < 1e6 else None


def remember(options: ModelOptions, audio_s: float, wall_s: float) -> None:
    """For the next dry run. Nothing is said where it can't be kept: nothing depends on it."""
    if audio_s >= FEWEST_S and wall_s > 0:
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
