"""The outline of a sound file, for a picture of it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import soundfile

from voxcli.errors import AudioError
from voxcli.terminal import printable

__all__ = ["peaks"]


def peaks(path: Path, count: int) -> list[float]:
    """The largest sample, of 1 at full scale, in each of `count` equal parts of the file; fewer of a very short one.

    Holds one part in memory. Raises AudioError.
    """
    try:
        with soundfile.SoundFile(os.fsencode(path)) as sound:
            size = max(1, -(-sound.frames // count))
            return [float(np.abs(part).max()) for part in sound.blocks(size, dtype="float32") if len(part)]
    except (OSError, soundfile.SoundFileError) as error:
        raise AudioError(f"{printable(path)}: its sound can't be read") from error
