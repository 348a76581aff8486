"""`TTS.stream`: blocks of audio while it is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.api.loaded import LIMITS, LONG, check_free, engine_of
from voxcli import TTS
from voxcli.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


def test_a_stream_is_the_speech(tts: TTS) -> None:
    whole = tts.speak("Hello there.", **LIMITS)
    stream = tts.stream("Hello there.", **LIMITS)
    assert (stream.sample_rate, stream.seed) == (24_000, 9)
    blocks = list(stream)
    assert len(blocks) > 2 and all(block.dtype == np.float32 for block in blocks)
    samples = np.concatenate(blocks)
    assert samples.shape == whole.audio.shape and np.abs(samples - whole.audio).max() <= 1e-4
    assert stream.cut_off
    Path("phone.yaml").write_text("settings: {level: -20}")
    options: list[dict[str, Any]] = [{"level": -20}, {"loudness": -23}, {"format": "flac"}, {"preset": "phone.yaml"}]
    for each in options:
        with pytest.raises(InputError, match=r"^(level|loudness|format) needs the whole audio: use speak\(\)$"):
            tts.stream("Hello.", **each)


def test_a_drawn_seed_reproduces_a_stream(tts: TTS) -> None:
    first = tts.stream("Hello.", steps=2, max_seconds=0.5)
    samples = np.concatenate(list(first))
    again = np.concatenate(list(tts.stream("Hello.", steps=2, max_seconds=0.5, seed=first.seed)))
    assert np.array_equal(samples, again)


@pytest.mark.parametrize("rate", [None, 16_000])
def test_leaving_a_stream_early_frees_its_row(tts: TTS, rate: int | None) -> None:
    whole = tts.speak(LONG, **LIMITS).audio
    with tts.stream(LONG, **LIMITS, sample_rate=rate) as stream:
        next(stream)
        assert engine_of(tts).scheduler.running
    check_free(tts)
    for _ in tts.stream(LONG, **LIMITS, sample_rate=rate):
        break
    check_free(tts)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, whole)
    assert next(stream, None) is None
