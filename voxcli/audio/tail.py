"""Remove long silence at the end of a clip whose model did not stop. Mono float samples, full scale 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.join import fade
from voxcli.audio.levels import FRAME_S, active_level, frame_rms

__all__ = ["without_silent_run"]

Samples = NDArray[np.float32]

RUN_S = 2.0  # longer than any pause of a reader between two sentences
KEPT_S = 0.3  # typical silence at the end of clips that stop by themselves
FADE_S = 0.02
_SILENT = 10 ** (-40 / 20)  # relative to the level of the speech; breath and room noise are louder


def without_silent_run(samples: Samples, rate: int) -> Samples:
    """Shorten trailing silence to KEPT_S, faded out. Returns the same array if there is no long silence.

    Silence is long if it lasts RUN_S or more, 40 dB or more below the speech. A completely silent clip is unchanged.
    """
    frame = max(1, round(FRAME_S * rate))
    # Most ends are loud even beside the loudest sample, which is at least the level of the speech.
    run = max(0, -(-(len(samples) - round(RUN_S * rate)) // frame)) * frame
    peak = max(samples.max(initial=0.0), -samples.min(initial=0.0))
    if frame_rms(samples[run:], rate).max(initial=0.0) > peak * _SILENT:
        return samples
    levels = frame_rms(samples, rate)
    loud = np.flatnonzero(levels > active_level(levels) * _SILENT)
    if not len(loud):
        return samples
    end = min((int(loud[-1]) + 1) * frame, len(samples))
    if len(samples) - end < round(RUN_S * rate):
        return samples
    kept = samples[: end + round(KEPT_S * rate)].copy()
    size = round(FADE_S * rate)
    kept[-size:] *= fade(size)[::-1]
    return kept
