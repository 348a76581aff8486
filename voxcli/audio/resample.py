"""Sample rate conversion with an exact output length."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

__all__ = ["resample"]


def resample(samples: NDArray[np.float32], from_rate: int, to_rate: int) -> NDArray[np.float32]:
    """Return float32[ceil(len(samples) * to_rate / from_rate)]; the same array if the rates are equal."""
    if from_rate == to_rate:
        return samples
    length = -(-len(samples) * to_rate // from_rate)
    out = soxr.resample(samples, from_rate, to_rate, quality="VHQ")[:length]
    # soxr rounds the length, so at most one sample is missing.
    return np.pad(out, (0, length - len(out))).astype(np.float32, copy=False)
