import numpy as np
import pytest

from voxcli.audio.levels import active_rms, frame_rms, quietest_place, silence_at_end, to_level
from voxcli.audio.resample import resample

RATE = 16_000


def tone(seconds: float, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 500 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(seconds * RATE), np.float32)


def test_rms_of_a_sine_is_its_amplitude_over_root_two() -> None:
    assert frame_rms(tone(0.1), RATE) == pytest.approx([0.5 / 2**0.5] * 5, rel=1e-4)
    assert active_rms(tone(1.0), RATE) == pytest.approx(0.5 / 2**0.5, rel=1e-4)


def test_a_short_last_frame_counts_its_own_samples() -> None:
    assert frame_rms(np.full(330, 0.5, np.float32), RATE) == pytest.approx([0.5, 0.5])


def test_pauses_do_not_lower_the_level_of_speech() -> None:
    clip = np.concatenate([tone(0.5), silence(5), tone(0.5)])
    assert active_rms(clip, RATE) == pytest.approx(0.5 / 2**0.5, rel=1e-3)
    assert active_rms(silence(1), RATE) == 0.0
    assert active_rms(silence(0), RATE) == 0.0


def test_to_level_is_one_gain_that_keeps_the_peak_below_minus_1_db() -> None:
    clip = np.concatenate([tone(0.5, 0.02), silence(2)])
    leveled = to_level(clip, RATE, -20)
    assert active_rms(leveled, RATE) == pytest.approx(0.1, rel=1e-3)  # -20 dBFS
    assert leveled == pytest.approx(clip * (leveled[5] / clip[5]), abs=1e-7)
    assert active_rms(to_level(tone(1), RATE, -30), RATE) == pytest.approx(10 ** (-30 / 20), rel=1e-3)
    assert np.abs(to_level(tone(1), RATE, -2)).max() == pytest.approx(10 ** (-1 / 20), rel=1e-3)  # a sine: -1 - 3 dB
    assert np.array_equal(to_level(silence(1), RATE, -20), silence(1))


def test_the_quietest_place_is_inside_the_pause() -> None:
    clip = np.concatenate([tone(1), silence(0.2), tone(1)])
    assert 1.05 * RATE - 1 <= quietest_place(clip, RATE, 0, len(clip)) <= 1.15 * RATE + 1
    assert quietest_place(silence(1), RATE, 0, RATE) >= 0.9 * RATE


def test_trailing_silence_is_relative_to_the_peak() -> None:
    sound = np.full(8_000, 0.01, np.float32)
    hiss = np.full(24_000, 0.00009, np.float32)
    assert silence_at_end(np.concatenate([sound, hiss]), 16_000) == 1.5
    assert silence_at_end(np.concatenate([hiss, sound]), 16_000) == 0.0
    assert silence_at_end(np.zeros(16_000, np.float32), 16_000) == 1.0


@pytest.mark.parametrize("from_rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("length", [0, 1, 999, 12_345])
def test_resampled_length_is_exact(from_rate: int, length: int) -> None:
    out = resample(np.zeros(length, np.float32), from_rate, RATE)
    assert len(out) == -(-length * RATE // from_rate)
    assert out.dtype == np.float32


def test_resampling_keeps_the_tone() -> None:
    at_48k = (0.5 * np.sin(2 * np.pi * 500 * np.arange(48_000) / 48_000)).astype(np.float32)
    assert np.abs(resample(at_48k, 48_000, RATE) - tone(1))[200:-200].max() < 1e-4
