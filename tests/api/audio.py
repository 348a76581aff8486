"""Recordings for tests."""

from __future__ import annotations

import numpy as np
import soundfile


def tone(path: str, seconds: float = 2.0) -> str:
    """Write a recording that can be a voice, and return its path."""
    t = np.arange(round(44_100 * seconds)) / 44_100
    soundfile.write(path, (0.3 * np.sin(2 * np.pi * 140 * t)).astype(np.float32), 44_100)
    return path
