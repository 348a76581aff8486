"""Compute the peaks of an audio file, for drawing a waveform."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import soundfile

from voxcli.errors import AudioError
from voxcli.terminal import printable

__all__ = ["peaks"]

MAX_FRAMES = 1 << 20  # read at once; reading each part by itself takes four times as long


def peaks(path: Path, count: int) -> list[float]:
    """Return the peak (full scale 1) of each of `count` equal parts of the file; fewer for a very short file.

    Holds one part of the file, or 1 M frames, in memory. Raises AudioError when the file can't be read.
    """
    found: list[float] = []
    try:
        with soundfile.SoundFile(os.fsencode(path)) as sound:
            size = max(1, -(-sound.frames // count))
            for block in sound.blocks(size * max(1, MAX_FRAMES // size), dtype="float32", always_2d=True):
                if len(block):
                    heights = np.abs(block).max(axis=1)
                    found += np.maximum.reduceat(heights, np.arange(0, len(heights), size)).tolist()
    except (OSError, soundfile.SoundFileError) as error:
        raise AudioError(f"{printable(path)}: its sound can't be read") from error
    return found
