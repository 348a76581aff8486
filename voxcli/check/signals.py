"""Measure the signal of a file: silence, clipping, loudness and noise. Mono float samples, full scale 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.levels import active_level, frame_rms
from voxcli.audio.loudness import LoudnessMeter

__all__ = ["Signals", "measure"]

Samples = NDArray[np.float32]

FRAME_S = 0.01
SILENT = 10 ** (-40 / 20)  # relative to the level of the speech; breath and room noise are louder
FULL = 0.999  # 16-bit files have no 1.0
RUN = 3  # samples at full scale in a row; a single one may be a peak that just fits
QUIET_SHARE = 0.1  # the quietest tenth of the frames between first and last sound is background
BLOCK = 1 << 16


@dataclass(frozen=True)
class Signals:
    """Measures of one file.

    duration_s:  its length.
    lead_s:      silence at its start.
    trail_s:     silence at its end.
    pause_s:     the longest silence between.
    clipping:    share of samples in runs at full scale.
    lufs:        integrated loudness; None for silence.
    noise_db:    level of the background relative to the speech, in dB; None for silence.
    """

    duration_s: float
    lead_s: float
    trail_s: float
    pause_s: float
    clipping: float
    lufs: float | None
    noise_db: float | None

    @property
    def speech_s(self) -> float:
        """Seconds between the first and the last sound."""
        return max(0.0, self.duration_s - self.lead_s - self.trail_s)


def measure(samples: Samples, rate: int) -> Signals:
    """Measure float32[n] at `rate` Hz."""
    duration_s = len(samples) / rate
    levels = frame_rms(samples, rate, FRAME_S)
    speech = active_level(levels)
    loud = np.flatnonzero(levels > speech * SILENT)
    if not len(loud):
        return Signals(duration_s, duration_s, 0.0, 0.0, _clipping(samples), None, None)
    first, end = int(loud[0]), int(loud[-1]) + 1
    gaps = np.diff(loud) - 1
    return Signals(
        duration_s=duration_s,
        lead_s=first * FRAME_S,
        trail_s=max(0.0, duration_s - end * FRAME_S),
        pause_s=float(gaps.max(initial=0)) * FRAME_S,
        clipping=_clipping(samples),
        lufs=_loudness(samples, rate),
        noise_db=_noise(levels[first:end], speech),
    )


def _noise(levels: NDArray[np.float64], speech: float) -> float:
    """Return the level of the quietest frames in dB relative to the speech, at least -96."""
    background = float(np.quantile(levels, QUIET_SHARE))
    return max(-96.0, 20 * math.log10(background / speech)) if background > 0 else -96.0


def _clipping(samples: Samples) -> float:
    full = np.concatenate(([0], (np.abs(samples) >= FULL).astype(np.int8), [0]))
    edges = np.flatnonzero(np.diff(full))
    runs = edges[1::2] - edges[::2]
    return float(runs[runs >= RUN].sum()) / max(1, len(samples))


def _loudness(samples: Samples, rate: int) -> float | None:
    meter = LoudnessMeter(rate)
    for start in range(0, len(samples), BLOCK):
        meter.add(np.ascontiguousarray(samples[start : start + BLOCK], np.float32))
    meter.end()
    loudness = meter.integrated()
    return None if math.isinf(loudness) else loudness
