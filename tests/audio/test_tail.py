from __future__ import annotations

import numpy as np
import pytest

from voxcli.audio import tail
from voxcli.audio.levels import FRAME_S, active_level, frame_rms
from voxcli.audio.tail import KEPT_S, RUN_S, without_silent_run

RATE = 24_000


def tone(seconds: float, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * 500 * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def noise(seconds: float, below_db: float) -> np.ndarray:
    """Return room noise that is `db` below a tone of 0.5."""
    rms = 0.5 / 2**0.5 * 10 ** (-below_db / 20)
    return (rms * np.random.default_rng(0).standard_normal(round(seconds * RATE))).astype(np.float32)


@pytest.mark.parametrize("silence", [np.zeros(3 * RATE, np.float32), noise(3, 45)], ids=["zeros", "noise"])
def test_a_silent_tail_is_cut_to_its_beginning_which_fades_to_zero(silence: np.ndarray) -> None:
    speech = tone(1.0)
    kept = without_silent_run(np.concatenate((speech, silence)), RATE)
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


def test_a_loud_end_is_found_without_measuring_the_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clips of full length end so, and thousands are made a minute."""
    monkeypatch.setattr(tail, "active_level", None)
    spoken = tone(20.0)
    assert without_silent_run(spoken, RATE) is spoken


@pytest.mark.parametrize("seed", range(40))
def test_the_end_is_that_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    levels = 10 ** random.uniform(-4.5, 0, random.integers(1, 8))
    pieces = [noise(random.uniform(0.01, 2.2), 0) * level for level in levels]
    samples = np.concatenate(pieces).astype(np.float32)
    frames = frame_rms(samples, RATE)
    last = int(np.flatnonzero(frames > active_level(frames) * 0.01)[-1])
    end = min((last + 1) * round(FRAME_S * RATE), len(samples))
    cut = len(samples) - end >= RUN_S * RATE
    assert len(without_silent_run(samples, RATE)) == (end + round(KEPT_S * RATE) if cut else len(samples))
