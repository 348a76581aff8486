"""Join the clips of one text: match their levels, insert pauses, avoid clicks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.levels import active_rms

__all__ = ["FADE_S", "Fader", "fade", "faded", "join", "silence"]

Samples = NDArray[np.float32]

FADE_S = 0.008  # shorter than the attack of a consonant, longer than a click
BLOCK = 1 << 16  # samples per block of silence
MAX_GAIN = 2.0  # 6 dB either way, so that a whisper among shouts stays quiet
PEAK = 0.99


def join(clips: Sequence[Samples], pauses_s: Sequence[float], rate: int, lead_s: float = 0.0) -> Samples:
    """Join mono `clips` (float32[n_i] at `rate` Hz), each with `pauses_s[i]` seconds of silence after it, `lead_s`
    before the first.

    Each clip is brought to the median level of all, by at most 6 dB, and faded in and out, so that it starts and ends
    at zero. Returns float32[round(lead_s * rate) + sum(n_i) + sum(round(pauses_s[i] * rate))]. Clip i starts after the
    preceding terms of these sums. A single clip only gets the fades. Raises ValueError unless there is one pause per
    clip.
    """
    if len(clips) != len(pauses_s):
        raise ValueError(f"{len(clips)} clips need as many pauses, not {len(pauses_s)}")
    pauses = [round(pause_s * rate) for pause_s in pauses_s]
    start = round(lead_s * rate)
    out = np.zeros(start + sum(map(len, clips)) + sum(pauses), dtype=np.float32)
    for clip, gain, pause in zip(clips, _gains(clips, rate), pauses, strict=True):
        part = out[start : start + len(clip)]
        np.multiply(clip, np.float32(gain), out=part)
        _fade_edges(part, rate)
        start += len(clip) + pause
    return out


def silence(seconds: float, rate: int) -> Iterator[Samples]:
    """Yield blocks of zeros, round(seconds * rate) samples in total."""
    samples = round(seconds * rate)
    for start in range(0, samples, BLOCK):
        yield np.zeros(min(BLOCK, samples - start), np.float32)


def _gains(clips: Sequence[Samples], rate: int) -> list[float]:
    """Return the gain that brings each clip to the median level without clipping its peak."""
    levels = [active_rms(clip, rate) for clip in clips]
    target = float(np.median([level for level in levels if level] or [0.0]))
    gains = []
    for clip, level in zip(clips, levels, strict=True):
        gain = min(max(target / level, 1 / MAX_GAIN), MAX_GAIN) if level else 1.0
        peak = float(np.abs(clip).max(initial=0.0))
        gains.append(min(gain, max(1.0, PEAK / peak)) if peak else 1.0)
    return gains


def fade(size: int) -> Samples:
    """Return a raised-cosine ramp from 0 to 1, float32[size]. Audio faded in with it starts smoothly."""
    return (0.5 - 0.5 * np.cos(np.pi * np.arange(size) / max(1, size))).astype(np.float32)


def _fade_edges(clip: Samples, rate: int) -> None:
    """Fade in and out, in place."""
    size = min(round(FADE_S * rate), len(clip) // 2)
    clip[:size] *= fade(size)
    clip[len(clip) - size :] *= fade(size)[::-1]


class Fader:
    """Fades the first and last `size` samples of audio that arrives in blocks, or half of a shorter one.

    Delays it by `size` samples, because any block may be the last.
    """

    def __init__(self, size: int):
        self._size = size
        self._held = np.zeros(0, np.float32)
        self._started = False

    def add(self, block: Samples) -> Samples:
        """Return the audio that is ready, float32[n]; n may be 0."""
        self._held = np.concatenate((self._held, block))
        if len(self._held) < 2 * self._size:
            return self._held[:0]
        if not self._started:
            self._held[: self._size] *= fade(self._size)
            self._started = True
        end = len(self._held) - self._size
        ready, self._held = self._held[:end], self._held[end:]
        return ready

    def end(self) -> Samples:
        """Return the rest."""
        held = self._held
        size = min(self._size, len(held) if self._started else len(held) // 2)
        if not self._started:
            held[:size] *= fade(size)
        held[len(held) - size :] *= fade(size)[::-1]
        return held


def faded(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """Fade the first and last `size` samples of a stream, or half of a shorter one. Delays it by `size` samples."""
    fader = Fader(size)
    for block in blocks:
        if len(ready := fader.add(block)):
            yield ready
    yield fader.end()
