from __future__ import annotations

import numpy as np
import pytest

from voxcli.audio.levels import FRAME_S
from voxcli.audio.tail import KEPT_S, RUN_S, without_silent_run

RATE = 24_000


def tone(seconds: float, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 500 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def noise(seconds: float, below_db: float) -> np.ndarray:
    """Return room noise that is `db` below a tone of 0.5."""
    rms = 0.5 / 2**0.5 * 10 ** (-below_db / 20)
    return (rms * np.random.default_rng(0).standard_normal(round(seconds * RATE))).astype(np.float32)


@pytest.mark.parametrize("tail", [np.zeros(3 * RATE, np.float32), noise(3, 45)], ids=["zeros", "noise"])
def test_a_silent_tail_is_cut_to_its_beginning_which_fades_to_zero(tail: np.ndarray) -> None:
    speech = tone(1.0)
    kept = without_silent_run(np.concatenate((speech, tail)), RATE)
    assert len(kept) / RATE == pytest.approx(1.0 + KEPT_S, abs=FRAME_S)
    assert np.array_equal(kept[: len(speech)], speech)
    assert abs(kept[-1]) < 1e-5


@pytest.mark.parametrize(
    "samples",
    [
        tone(3.0),
        np.concatenate((tone(1.0), np.zeros(round((RUN_S - 0.05) * RATE), np.float32))),
        np.concatenate((tone(1.0), noise(3, 35))),
        np.concatenate((tone(1.0), np.zeros(3 * RATE, np.float32), tone(0.1, 0.02))),
        np.zeros(5 * RATE, np.float32),
        np.zeros(0, np.float32),
    ],
    ids=["speech", "a pause", "breath", "a last word", "all silent", "nothing"],
)
def test_other_tails_are_unchanged(samples: np.ndarray) -> None:
    assert without_silent_run(samples, RATE) is samples


def test_a_whisper_is_not_silence() -> None:
    quiet = np.concatenate((tone(1.0, 0.001), np.zeros(3 * RATE, np.float32)))
    assert len(without_silent_run(quiet, RATE)) / RATE == pytest.approx(1.0 + KEPT_S, abs=FRAME_S)
