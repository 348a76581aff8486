import numpy as np
import pytest

from voxcli.audio.pcm import pcm16, pcm24

CASES = [0.0, 0.4, 0.6, -0.4, -0.6, 0.5, 1.5, -0.5, -1.5, 1000.49, -1000.51]  # in steps
ROUNDED = [0, 0, 1, 0, -1, 0, 2, 0, -2, 1000, -1001]  # halves are rounded to even


def test_samples_are_rounded_to_the_nearest_step() -> None:
    steps = np.array(CASES, np.float64)
    assert pcm16((steps / 2**15).astype(np.float32)).tolist() == ROUNDED
    assert (pcm24((steps / 2**23).astype(np.float32)) >> 8).tolist() == ROUNDED


def test_full_scale_is_clipped_not_wrapped() -> None:
    loud = np.array([1.0, 2.0, 3e38, -1.0, -2.0, -3e38, 1 - 2**-24], np.float32)
    assert pcm16(loud).tolist() == [32767] * 3 + [-32768] * 3 + [32767]
    assert (pcm24(loud) >> 8).tolist() == [2**23 - 1] * 3 + [-(2**23)] * 3 + [2**23 - 1]


@pytest.mark.parametrize(("convert", "bits", "shift"), [(pcm16, 15, 0), (pcm24, 23, 8)])
def test_the_error_has_zero_mean_and_a_maximum_of_half_a_step(convert: object, bits: int, shift: int) -> None:
    samples = np.random.default_rng(0).uniform(-0.9, 0.9, 1_000_000).astype(np.float32)
    assert callable(convert)
    error = (convert(samples) >> shift) - samples.astype(np.float64) * 2**bits
    assert np.abs(error).max() <= 0.5
    assert abs(error.mean()) < 1e-3  # in steps; truncation would give -0.5


def test_every_step_survives_a_round_trip() -> None:
    steps = np.arange(-(2**15), 2**15)
    assert np.array_equal(pcm16((steps / 2**15).astype(np.float32)), steps)
    steps = np.arange(-(2**23), 2**23, 997)
    assert np.array_equal(pcm24((steps / 2**23).astype(np.float32)) >> 8, steps)


def test_the_bytes_are_little_endian() -> None:
    assert pcm16(np.array([258 / 2**15], np.float32)).tobytes() == b"\x02\x01"
