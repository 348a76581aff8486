"""Convert samples to integers, for files and streams: round to the nearest step and clip at full scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["pcm16", "pcm24"]


def pcm16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Convert float32[n], full scale 1, to int16[n], little endian. 1 is 2^15 steps, so 16-bit audio is unchanged."""
    return _steps(samples, 15).astype("<i2")


def pcm24(samples: NDArray[np.float32]) -> NDArray[np.int32]:
    """Convert float32[n], full scale 1, to int32[n] with the sample in the upper 24 bits, as libsndfile expects."""
    return _steps(samples, 23).astype(np.int32) << 8


def _steps(samples: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    """Scale and round. Exact in float32: the factor is a power of two, and the mantissa has 24 bits."""
    scale = np.float32(2**bits)
    steps: NDArray[np.float32] = np.rint(np.clip(samples, -1, 1) * scale)
    return np.minimum(steps, scale - 1)
