"""Measures of clips whose silence, clipping and noise are known."""

from __future__ import annotations

import numpy as np
import pytest

from voxcli.check.signals import measure

RATE = 16_000


def tone(seconds: float, level: float = 0.3) -> np.ndarray:
    """Return a tone that swells and fades eight times a second, like syllables."""
    times = np.arange(round(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * 220 * times) * np.abs(np.sin(2 * np.pi * 4 * times))).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def test_silence_at_the_ends_and_inside() -> None:
    found = measure(np.concatenate([silence(0.5), tone(1.0), silence(0.7), tone(1.0), silence(0.3)]), RATE)
    assert found.duration_s == 3.5
    assert found.lead_s == pytest.approx(0.5, abs=0.02)
    assert found.pause_s == pytest.approx(0.7, abs=0.04)
    assert found.trail_s == pytest.approx(0.3, abs=0.02)
    assert found.speech_s == pytest.approx(2.7, abs=0.04)


def test_a_silent_clip() -> None:
    found = measure(silence(1.0), RATE)
    assert (found.lead_s, found.speech_s, found.lufs, found.noise_db) == (1.0, 0.0, None, None)


def test_clipping_is_the_share_of_runs_at_full_scale() -> None:
    clip = tone(1.0)
    clip[100:140] = 1.0
    clip[200:220] = -1.0
    clip[300] = 1.0  # a single peak
    assert measure(clip, RATE).clipping == pytest.approx(60 / RATE)
    assert measure(tone(1.0), RATE).clipping == 0.0


def test_noise_is_the_background_below_the_speech() -> None:
    draw = np.random.default_rng(0)
    speech = np.concatenate([tone(1.0), silence(0.5), tone(1.0)])
    noise = draw.normal(0, 1, len(speech))
    levels = [measure((speech + level * noise).astype(np.float32), RATE).noise_db for level in (0.0001, 0.1)]
    assert levels[0] is not None and levels[0] < -35
    assert levels[1] is not None and -12 < levels[1] < -2


def test_loudness_is_that_of_the_meter() -> None:
    times = np.arange(RATE) / RATE
    found = measure((0.1 * np.sin(2 * np.pi * 1000 * times)).astype(np.float32), RATE)
    assert found.lufs == pytest.approx(-23.0, abs=0.1), "a 1 kHz sine of -20 dBFS has -23 LUFS in one channel"
