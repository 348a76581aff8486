"""The speaker encoder: the network of Resemblyzer (Apache-2.0) with the weights in its wheel, without its packages.

Resemblyzer needs librosa and a compiler for webrtcvad; `pip install --no-deps resemblyzer` installs the weights alone.
The network was trained by generalized end-to-end loss (Wan et al. 2018, arXiv 1710.10467): mel spectra of 1.6 s pass
through three LSTM layers. The embedding, 256 numbers, is the mean over overlapping windows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.levels import active_level, frame_rms
from voxcli.check.heard import RATE, Samples

__all__ = ["INSTALL", "SpeakerEncoder", "encoder_weights", "similarity"]

PACKAGE = "resemblyzer"
INSTALL = "pip install --no-deps resemblyzer"
WINDOW, HOP, BANDS = 400, 160, 40  # samples of a spectrum, between spectra, and mel bands
FRAMES, STEP = 160, 77  # spectra of a window, and between windows
COVERED = 0.75  # of the last window, at least
SIZE, LAYERS = 256, 3
LIFTED_RMS = 10 ** (-30 / 20)
PAUSE_S, KEPT_S = 0.03, 0.2  # frames in which silence is found, and what is kept of it on both sides
SILENT = 10 ** (-35 / 20)


def encoder_weights() -> Path | None:
    """Return the file with the weights; None if the package is not installed. Does not import it."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("pretrained.pt")
    return path if os.path.isfile(path) else None


def similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two embeddings: 1 for the same, about 0.5 for other speakers."""
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


class SpeakerEncoder:
    """weights: the file of Resemblyzer."""

    def __init__(self, weights: str | Path):
        import torch

        self._torch = torch
        state = torch.load(weights, map_location="cpu", weights_only=True)["model_state"]
        self._lstm = torch.nn.LSTM(BANDS, SIZE, LAYERS, batch_first=True)
        self._linear = torch.nn.Linear(SIZE, SIZE)
        for name, layer in (("lstm.", self._lstm), ("linear.", self._linear)):
            layer.load_state_dict({key[len(name) :]: value for key, value in state.items() if key.startswith(name)})

    def embed(self, samples: Samples) -> tuple[float, ...]:
        """Return the embedding of float32[n] at RATE Hz, of length 1."""
        windows = _windows(_without_pauses(_lifted(samples)))
        with self._torch.inference_mode():
            _, (hidden, _) = self._lstm(self._torch.from_numpy(windows))
            vectors = self._linear(hidden[-1]).relu().double().numpy()
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        mean = vectors.mean(axis=0)
        return tuple((mean / np.linalg.norm(mean)).round(6).tolist())


def _lifted(samples: Samples) -> Samples:
    """Return quiet samples at the level that the encoder knows; louder ones stay."""
    rms = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0
    return samples * np.float32(LIFTED_RMS / rms) if 0 < rms < LIFTED_RMS else samples


def _without_pauses(samples: Samples) -> Samples:
    """Return the samples without the middle of pauses, which say nothing about the speaker."""
    levels = frame_rms(samples, RATE, PAUSE_S)
    loud = levels > active_level(levels) * SILENT
    around = round(KEPT_S / PAUSE_S)
    kept = np.convolve(loud, np.ones(2 * around + 1), "same") > 0
    return samples[np.repeat(kept, round(PAUSE_S * RATE))[: len(samples)]] if kept.any() else samples


def _windows(samples: Samples) -> NDArray[np.float32]:
    """Return mel spectra as float32[windows, FRAMES, BANDS]; the last window is filled with silence."""
    frames = -(-(len(samples) + 1) // HOP)
    starts = list(range(0, max(1, frames - FRAMES + STEP + 1), STEP))
    covered = (len(samples) - starts[-1] * HOP) / (FRAMES * HOP)
    if covered < COVERED and len(starts) > 1:
        del starts[-1]
    size = (starts[-1] + FRAMES) * HOP
    spectra = _mel_spectra(np.pad(samples, (0, max(0, size - len(samples)))))
    return np.stack([spectra[start : start + FRAMES] for start in starts])


def _mel_spectra(samples: Samples) -> NDArray[np.float32]:
    """Return power spectra in mel bands, float32[frames, BANDS], as librosa.feature.melspectrogram does."""
    padded = np.pad(samples, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.square(np.abs(np.fft.rfft(frames * window, axis=1)))
    return np.asarray(power @ _filters().T, np.float32)


@lru_cache(maxsize=1)
def _filters() -> NDArray[np.float64]:
    """Return triangular filters of equal area on Slaney's mel scale, float64[BANDS, WINDOW // 2 + 1]."""
    edges = _hertz(np.linspace(0.0, _mel(RATE / 2), BANDS + 2))
    bins = np.fft.rfftfreq(WINDOW, 1 / RATE)
    widths = np.diff(edges)
    slopes = edges[:, None] - bins[None, :]
    triangles = np.maximum(0, np.minimum(-slopes[:-2] / widths[:-1, None], slopes[2:] / widths[1:, None]))
    return np.asarray(triangles * (2 / (edges[2:] - edges[:-2]))[:, None])


# Slaney's mel scale: linear below 1 kHz, logarithmic above.
LINEAR_HZ, BEND_HZ, BEND = 200 / 3, 1000.0, 15.0
LOG_STEP = np.log(6.4) / 27


def _mel(hertz: float) -> float:
    return hertz / LINEAR_HZ if hertz < BEND_HZ else BEND + float(np.log(hertz / BEND_HZ) / LOG_STEP)


def _hertz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mels < BEND, mels * LINEAR_HZ, BEND_HZ * np.exp(LOG_STEP * (mels - BEND)))
