"""Compute the peaks of an audio file, for drawing a waveform."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import soundfile

from voxcli.errors import AudioError
from voxcli.terminal import printable

__all__ = ["peaks"]


def peaks(path: Path, count: int) -> list[float]:
    """Return the peak (full scale 1) of each of `count` equal parts of the file; fewer for a very short file.

    Holds one part in memory. Raises AudioError when the file can't be read.
    """
    try:
        with soundfile.SoundFile(os.fsencode(path)) as sound:
            size = max(1, -(-sound.frames // count))
            return [float(np.abs(part).max()) for part in sound.blocks(size, dtype="float32") if len(part)]
    except (OSError, soundfile.SoundFileError) as error:
        raise AudioError(f"{printable(path)}: its sound can't be read") from error
