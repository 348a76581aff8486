"""Measure and set levels, find quiet places. Mono float samples; levels are linear, full scale is 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FRAME_S", "active_level", "active_rms", "frame_rms", "quietest_place", "silence_at_end", "to_level"]

Samples = NDArray[np.float32]

FRAME_S = 0.02
# A frame counts as speech if its level is at least this fraction of the loudest frame's (-20 dB).
_ACTIVE = 0.1
# -1 dBFS: headroom for peaks between the samples, which lossy formats and converters add.
_PEAK = 10 ** (-1 / 20)


def frame_rms(samples: Samples, rate: int, frame_s: float = FRAME_S) -> NDArray[np.float64]:
    """Return the RMS of each frame of `frame_s` seconds: float64[ceil(samples / frame)]. The last may be shorter."""
    size = max(1, round(frame_s * rate))
    power = np.square(samples, dtype=np.float64)
    starts = np.arange(0, len(power), size)
    sums = np.add.reduceat(power, starts) if len(power) else np.zeros(0)
    return np.sqrt(sums / np.minimum(size, len(power) - starts))


def active_rms(samples: Samples, rate: int) -> float:
    """Return the RMS of the speech in `samples`: of all frames within 20 dB of the loudest. 0 for silence."""
    return active_level(frame_rms(samples, rate))


def active_level(frames: NDArray[np.float64]) -> float:
    """Return the RMS of the speech from the RMS of each frame; see active_rms."""
    if not len(frames) or not frames.max():
        return 0.0
    active = frames[frames >= _ACTIVE * frames.max()]
    return float(np.sqrt(np.mean(np.square(active))))


def to_level(samples: Samples, rate: int, level_db: float) -> Samples:
    """Scale `samples` so that the speech has an RMS of `level_db` dBFS, with the peak limited to -1 dBFS.

    A single gain is applied, without compression. Silence is returned unchanged.
    """
    level, peak = active_rms(samples, rate), float(np.abs(samples).max(initial=0.0))
    if not level:
        return samples
    return samples * np.float32(min(10 ** (level_db / 20) / level, _PEAK / peak))


def quietest_place(samples: Samples, rate: int, start: int, stop: int) -> int:
    """Return the index of the middle of the quietest 0.1 s in [start, stop); of equally quiet places the last."""
    size = max(1, round(0.1 * rate))
    power = np.concatenate(([0.0], np.cumsum(np.square(samples[start:stop], dtype=np.float64))))
    if len(power) <= size:
        return stop
    sums = power[size:] - power[:-size]
    # The cumulative sum has rounding errors of about 1e-16 of the total; sums within them are equal.
    equal = np.flatnonzero(sums <= sums.min() + 1e-12 * power[-1])
    return start + int(equal[-1]) + size // 2


def silence_at_end(samples: Samples, rate: int, *, threshold_db: float = -40.0) -> float:
    """Return the seconds after the last sample above `threshold_db` relative to the peak; all of a silent clip."""
    size = np.abs(samples)
    loud = np.flatnonzero(size > size.max(initial=0.0) * 10 ** (threshold_db / 20))
    return (len(samples) - (int(loud[-1]) + 1 if len(loud) else 0)) / rate
