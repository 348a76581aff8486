"""Measure and set loudness as ITU-R BS.1770-4 defines it: integrated loudness in LUFS, true peak in dBTP. Mono only.

Samples pass through two filters ("K-weighting"). The recommendation gives their coefficients for 48 kHz. For other
rates they are designed from the analogue prototypes behind these, as in libebur128 and ffmpeg, so that results agree.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import soxr
from numpy.typing import NDArray

__all__ = ["MAX_TRUE_PEAK_DB", "LoudnessMeter", "to_loudness"]

Samples = NDArray[np.float32]
Coefficients = tuple[float, float, float, float, float]  # b0, b1, b2 of the input, a1, a2 of the output

MAX_TRUE_PEAK_DB = -1.0  # of EBU R 128
STEP_S, STEPS = 0.1, 4  # blocks of 0.4 s overlap by three quarters
OFFSET_DB = -0.691
ABSOLUTE_GATE, RELATIVE_GATE = -70.0, -10.0  # LUFS and LU
OVERSAMPLING = 4
USUAL_RATE = 48_000  # Hz, of the recommendation
RESPONSE_S = 0.12  # after which the response of both filters is below 1e-12
SIZE = 1 << 16  # samples of a Fourier transform


class LoudnessMeter:
    """Measures audio that arrives in blocks of float32[n] at `rate` Hz."""

    def __init__(self, rate: int):
        # as in ffmpeg, audio whose steps would be no whole number of samples is weighted at the usual rate
        weighted_at = USUAL_RATE if rate % round(1 / STEP_S) else rate
        self._step = round(STEP_S * weighted_at)
        self._spectrum, self._taps = _spectrum(weighted_at)
        self._resampler = (
            soxr.ResampleStream(rate, weighted_at, 1, dtype="float32", quality="HQ") if weighted_at != rate else None
        )
        self._oversampler = soxr.ResampleStream(rate, OVERSAMPLING * rate, 1, dtype="float32", quality="HQ")
        self._tail = np.zeros(self._taps - 1)  # of the filters, after the last sample
        self._weighted = np.zeros(0)  # weighted samples of an incomplete step
        self._powers: list[NDArray[np.float64]] = []  # mean squares of the steps
        self._peak = 0.0

    def add(self, block: Samples) -> None:
        self._peak = max(self._peak, _peak(block), _peak(self._oversampler.resample_chunk(block)))
        self._weigh(block if self._resampler is None else self._resampler.resample_chunk(block))

    def end(self) -> None:
        """Measure what the resamplers hold back; nothing can be added after this."""
        nothing = np.zeros(0, np.float32)
        self._peak = max(self._peak, _peak(self._oversampler.resample_chunk(nothing, last=True)))
        if self._resampler is not None:
            self._weigh(self._resampler.resample_chunk(nothing, last=True))

    @property
    def true_peak(self) -> float:
        """The largest value of the waveform, also between the samples; full scale is 1."""
        return self._peak

    def integrated(self, gain: float = 1.0) -> float:
        """Return the loudness in LUFS of the audio so far, times `gain`; -inf for silence.

        Audio of less than 0.4 s has no complete block and counts as one.
        """
        powers = np.concatenate([np.zeros(0), *self._powers]) * gain**2
        if len(powers) >= STEPS:
            blocks = np.convolve(powers, np.full(STEPS, 1 / STEPS), "valid")
        else:
            rest = np.square(self._weighted * gain)
            samples = len(powers) * self._step + len(rest)
            blocks = np.array([(powers.sum() * self._step + rest.sum()) / max(1, samples)])
        blocks = blocks[blocks > _power(ABSOLUTE_GATE)]
        if len(blocks):
            blocks = blocks[blocks > _power(_loudness(blocks.mean()) + RELATIVE_GATE)]
        return _loudness(blocks.mean()) if len(blocks) else -math.inf

    def gain_to(self, loudness: float) -> tuple[float, float]:
        """Return the gain that brings the audio to a loudness in LUFS with a true peak of at most -1 dBTP, and by how
        many LU that limit lowers it. Silence has the gain 1.
        """
        gain = 1.0
        for _ in range(3):  # a gain changes which blocks are above the absolute gate
            if (measured := self.integrated(gain)) == -math.inf:
                return 1.0, 0.0
            gain *= 10 ** ((loudness - measured) / 20)
        limit = 10 ** (MAX_TRUE_PEAK_DB / 20) / self._peak
        return min(gain, limit), max(0.0, 20 * math.log10(gain / limit))

    def _weigh(self, samples: Samples) -> None:
        longest = SIZE - self._taps + 1
        for start in range(0, len(samples), longest):
            self._weigh_block(samples[start : start + longest])

    def _weigh_block(self, block: Samples) -> None:
        """Filter a block by the overlap-add method, and add the powers of the steps that are complete."""
        filtered = np.fft.irfft(np.fft.rfft(block.astype(np.float64), SIZE) * self._spectrum, SIZE)[
            : len(block) + self._taps - 1
        ]
        filtered[: len(self._tail)] += self._tail
        weighted, self._tail = np.split(filtered, [len(block)])
        weighted = np.concatenate((self._weighted, weighted))
        steps = len(weighted) // self._step
        whole, self._weighted = np.split(weighted, [steps * self._step])
        self._powers.append(np.square(whole).reshape(steps, self._step).mean(1))


def to_loudness(samples: Samples, rate: int, loudness: float) -> tuple[Samples, float]:
    """Scale samples, float32[n] at `rate` Hz, by one gain: see `LoudnessMeter.gain_to`.

    Returns the samples and by how many LU the limit of the peak keeps them below the loudness.
    """
    meter = LoudnessMeter(rate)
    meter.add(samples)
    meter.end()
    gain, missing = meter.gain_to(loudness)
    return samples * np.float32(gain), missing


def _peak(samples: Samples) -> float:
    return float(np.abs(samples).max(initial=0.0))


def _loudness(power: float) -> float:
    return OFFSET_DB + 10 * math.log10(power)


def _power(loudness: float) -> float:
    return float(10 ** ((loudness - OFFSET_DB) / 10))


@lru_cache(maxsize=8)
def _spectrum(rate: int) -> tuple[NDArray[np.complex128], int]:
    """Return the Fourier transform of the impulse response of both filters at `rate` Hz, and its length in samples."""
    taps = round(RESPONSE_S * rate)
    response = _filtered(_filtered([1.0] + [0.0] * (taps - 1), *_shelf(rate)), *_high_pass(rate))
    return np.fft.rfft(np.array(response), SIZE), taps


def _shelf(rate: int) -> Coefficients:
    """The high shelf of the head."""
    k, q, high = math.tan(math.pi * 1681.974450955533 / rate), 0.7071752369554196, 10 ** (3.999843853973347 / 20)
    band = high**0.4996667741545416 * k / q
    a0 = 1 + k / q + k * k
    b0, b1, b2 = high + band + k * k, 2 * (k * k - high), high - band + k * k
    return b0 / a0, b1 / a0, b2 / a0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0


def _high_pass(rate: int) -> Coefficients:
    k, q = math.tan(math.pi * 38.13547087602444 / rate), 0.5003270373238773
    a0 = 1 + k / q + k * k
    return 1.0, -2.0, 1.0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0


def _filtered(samples: list[float], b0: float, b1: float, b2: float, a1: float, a2: float) -> list[float]:
    """Filter by the difference equation y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]."""
    x1 = x2 = y1 = y2 = 0.0
    filtered = []
    for x in samples:
        y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
        x1, x2, y1, y2 = x, x1, y, y1
        filtered.append(y)
    return filtered
