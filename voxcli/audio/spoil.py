"""Spoil a clip in the ways in which a model fails, for tests of what listens to it. Mono float samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.levels import active_rms

__all__ = ["spoil"]

Samples = NDArray[np.float32]

FIRST, LAST = 0.35, 0.65  # the middle of a clip, as shares of its length
END = 0.6
NOISE_DB = -6.0  # relative to the speech
SPEED = 0.78  # lower and slower: the formants of another speaker


def spoil(samples: Samples, rate: int, kind: str) -> Samples:
    """Return a spoiled copy of float32[n] at `rate` Hz.

    kind: "drop" leaves out the middle, "repeat" says it twice, "noise" adds white noise, "cut" leaves out the end,
          "voice" is another speaker.
    """
    first, last = round(FIRST * len(samples)), round(LAST * len(samples))
    match kind:
        case "drop":
            return np.concatenate([samples[:first], samples[last:]])
        case "repeat":
            return np.concatenate([samples[:last], samples[first:]])
        case "noise":
            level = active_rms(samples, rate) * 10 ** (NOISE_DB / 20)
            noise = np.random.default_rng(0).normal(0.0, level, len(samples))
            return np.clip(samples + noise, -1, 1).astype(np.float32)
        case "cut":
            return samples[: round(END * len(samples))].copy()
        case "voice":
            times = np.arange(0, len(samples) - 1, SPEED)
            slower: Samples = np.interp(times, np.arange(len(samples)), samples).astype(np.float32)
            return slower
    raise ValueError(f"clips are not spoiled by {kind!r}")
