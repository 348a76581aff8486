"""Sample rate conversion with a length that can be counted on."""

from __future__ import annotations

import numpy as np
import soxr
from numpy.typing import NDArray

__all__ = ["resample"]


def resample(samples: NDArray[np.float32], from_rate: int, to_rate: int) -> NDArray[np.float32]:
    """Return float32[ceil(len(samples) * to_rate / from_rate)]; the samples themselves when the rates are equal."""
    if from_rate == to_rate:
        return samples
    length = -(-len(samples) * to_rate // from_rate)
    out = soxr.resample(samples, from_rate, to_rate, quality="VHQ")[:length]
    # soxr rounds the length; what is missing is part of a sample's time.
    return np.pad(out, (0, length - len(out))).astype(np.float32, copy=False)
