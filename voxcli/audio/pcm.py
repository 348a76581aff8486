"""Samples -> whole numbers, for files and for streams: rounded to the nearest step and clipped at full scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pcm16", "pcm24"]


def pcm16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """float32[n], full scale 1 -> int16[n], little endian. 1 is 2^15 steps, so 16 bits come back as they were."""
    return _steps(samples, 15).astype("<i2")


def pcm24(samples: NDArray[np.float32]) -> NDArray[np.int32]:
    """float32[n], full scale 1 -> int32[n] whose upper 24 bits are the sample, as libsndfile takes them."""
    return _steps(samples, 23).astype(np.int32) << 8


def _steps(samples: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """Exact in float32: scaling by a power of two loses nothing, and its mantissa holds 24 bits."""
    scale = np.float32(2**bits)
    steps: NDArray[np.float32] = np.rint(np.clip(samples, -1, 1) * scale)
    return np.minimum(steps, scale - 1)
