"""Spoiled clips have the length and the parts that their kind says."""

from __future__ import annotations

import numpy as np
import pytest

from voxcli.audio.spoil import spoil
from voxcli.faults import SPOILED

RATE = 16_000
CLIP = np.linspace(0.1, 0.5, 1000, dtype=np.float32)


def test_what_is_left_out_and_repeated() -> None:
    assert np.array_equal(spoil(CLIP, RATE, "drop"), np.concatenate([CLIP[:350], CLIP[650:]]))
    assert np.array_equal(spoil(CLIP, RATE, "repeat"), np.concatenate([CLIP[:650], CLIP[350:]]))
    assert np.array_equal(spoil(CLIP, RATE, "cut"), CLIP[:600])


def test_noise_is_6_db_below_the_speech() -> None:
    times = np.arange(RATE) / RATE
    clip = (0.2 * np.sin(2 * np.pi * 200 * times)).astype(np.float32)
    noise = spoil(clip, RATE, "noise") - clip
    assert 20 * np.log10(noise.std() / clip.std()) == pytest.approx(-6.0, abs=0.1)
    assert np.array_equal(spoil(clip, RATE, "noise"), spoil(clip, RATE, "noise"))


def test_another_voice_is_lower() -> None:
    times = np.arange(RATE) / RATE
    clip = np.sin(2 * np.pi * 200 * times).astype(np.float32)
    voice = spoil(clip, RATE, "voice")
    assert len(voice) == pytest.approx(RATE / 0.78, abs=2)
    crossings = np.count_nonzero(np.diff(np.signbit(voice))) / 2 / (len(voice) / RATE)
    assert crossings == pytest.approx(156, abs=1)


def test_every_kind_of_the_faults_is_known() -> None:
    for kind in SPOILED:
        assert spoil(CLIP, RATE, kind).dtype == np.float32
    with pytest.raises(ValueError, match="not spoiled by 'burn'"):
        spoil(CLIP, RATE, "burn")
