"""Loudness against the recommendation's own figures: coefficients, calibration tone, gating cases of EBU Tech 3341.

ffmpeg's ebur128 gives the same within 0.05 LU, for the clips of the demo voice at 8 to 96 kHz.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from voxcli.audio.loudness import LoudnessMeter, _filtered, _high_pass, _shelf, to_loudness


def tone(seconds: float, level_db: float = 0.0, rate: int = 48_000, hertz: float = 997.0) -> np.ndarray:
    t = np.arange(round(seconds * rate)) / rate
    return (10 ** (level_db / 20) * np.sin(2 * np.pi * hertz * t)).astype(np.float32)


def measured(samples: np.ndarray, rate: int = 48_000, blocks: int = 1) -> LoudnessMeter:
    meter = LoudnessMeter(rate)
    for block in np.array_split(samples, blocks):
        meter.add(block)
    meter.end()
    return meter


def test_the_filters_are_those_of_the_recommendation() -> None:
    shelf = (1.53512485958697, -2.69169618940638, 1.19839281085285, -1.69065929318241, 0.73248077421585)
    assert _shelf(48_000) == pytest.approx(shelf, abs=1e-13)
    assert _high_pass(48_000) == pytest.approx((1, -2, 1, -1.99004745483398, 0.99007225036621), abs=1e-13)


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 44_100, 48_000, 96_000])
def test_a_full_tone_of_997_hertz_has_three_lufs_less_than_full_scale(rate: int) -> None:
    assert measured(tone(5, rate=rate), rate).integrated() == pytest.approx(-3.01, abs=0.06)
    assert measured(tone(5, -20, rate=rate), rate).integrated() == pytest.approx(-23.01, abs=0.06)


@pytest.mark.parametrize(
    "levels", [[(10, -36), (60, -23), (10, -36)], [(10, -72), (10, -36), (60, -23), (10, -36), (10, -72)]]
)
def test_quiet_parts_do_not_count(levels: list[tuple[float, float]]) -> None:
    """Cases 3 and 4 of EBU Tech 3341, for one channel, which is 3.01 dB quieter than two."""
    sound = np.concatenate([tone(seconds, level + 3.01) for seconds, level in levels])
    assert measured(sound).integrated() == pytest.approx(-23.0, abs=0.1)


def test_the_filters_are_their_difference_equation() -> None:
    rate = 8_000
    samples = np.random.default_rng(0).normal(0, 0.1, 2 * rate).astype(np.float32)
    weighted = np.square(_filtered(_filtered(samples.tolist(), *_shelf(rate)), *_high_pass(rate)))
    blocks = [weighted[start : start + 3200].mean() for start in range(0, len(weighted) - 3199, 800)]
    expected = -0.691 + 10 * math.log10(np.mean(blocks))
    assert measured(samples, rate).integrated() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("blocks", [2, 7, 1000])
def test_blocks_are_measured_as_the_whole(blocks: int) -> None:
    rng = np.random.default_rng(1)
    samples = (rng.normal(0, 0.1, 5 * 24_000) * np.repeat(rng.uniform(0, 1, 50), 2_400)).astype(np.float32)
    whole, parts = measured(samples, 24_000), measured(samples, 24_000, blocks)
    assert parts.integrated() == pytest.approx(whole.integrated(), abs=1e-9)
    assert parts.true_peak == pytest.approx(whole.true_peak, abs=1e-6)


def test_the_peak_lies_between_the_samples() -> None:
    """Each sample of this tone is at 45 degrees: 3 dB below its peak."""
    t = np.arange(48_000)
    sound = (0.5 * np.sin(np.pi / 2 * t + np.pi / 4) * np.hanning(48_000)).astype(np.float32)
    assert np.abs(sound).max() == pytest.approx(0.3536, abs=1e-4)
    assert measured(sound).true_peak == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize("rate", [8_000, 24_000, 48_000])
def test_audio_gets_its_loudness(rate: int) -> None:
    samples = np.concatenate((tone(3, -40, rate), tone(2, -60, rate), tone(3, -35, rate)))
    louder, missing = to_loudness(samples, rate, -23)
    assert louder.dtype == np.float32 and missing == 0.0
    assert measured(louder, rate).integrated() == pytest.approx(-23.0, abs=1e-3)
    assert np.array_equal(louder, samples * (louder[100] / samples[100]))


def test_the_peak_limits_the_gain() -> None:
    samples = tone(5, -40)
    samples[1_000:1_010] += 0.5
    louder, missing = to_loudness(samples, 48_000, -14)
    meter = measured(louder)
    assert 20 * math.log10(meter.true_peak) == pytest.approx(-1.0, abs=0.01)
    assert meter.integrated() == pytest.approx(-14 - missing, abs=1e-3) and missing > 20


def test_what_has_no_loudness_stays_as_it_is() -> None:
    for samples in (np.zeros(48_000, np.float32), np.zeros(0, np.float32)):
        same, missing = to_loudness(samples, 48_000, -23)
        assert np.array_equal(same, samples) and missing == 0.0
    assert measured(np.zeros(48_000, np.float32)).integrated() == -math.inf


def test_what_is_shorter_than_a_block_counts_as_one() -> None:
    assert measured(tone(0.3, -20)).integrated() == pytest.approx(-23.01, abs=0.2)
    quiet, _ = to_loudness(tone(0.1, -6), 48_000, -30)
    assert measured(quiet).integrated() == pytest.approx(-30.0, abs=1e-6)


def test_audio_without_whole_steps_is_weighted_at_48_khz() -> None:
    """Where ffmpeg's ebur128 does so too: a tone of 4.4 kHz measures 0.2 LU more with filters for 11,025 Hz."""
    odd, usual = (measured(tone(3, rate=rate, hertz=4410), rate).integrated() for rate in (11_025, 48_000))
    assert odd == pytest.approx(usual, abs=0.02)
    assert measured(tone(3, rate=11_025, hertz=997), 11_025, blocks=50).integrated() == pytest.approx(-3.01, abs=0.06)
