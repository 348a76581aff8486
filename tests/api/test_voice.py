"""`TTS.voice`: voices of recordings, named and not."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.api.audio import tone
from tests.api.loaded import LIMITS, options_of
from voxcli import TTS
from voxcli.cli.main import run
from voxcli.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


def test_a_voice_is_that_of_the_command(tts: TTS, command: Callable[..., bytes], remarks: list[str]) -> None:
    tone("me.wav")
    assert run(["voices", "add", "anna", "--ref", "me.wav", "--text", "Humming."]) == 0
    expected = command("Hello.", "a.wav", "--voice", "anna", *options_of(LIMITS))
    voice = tts.voice("me.wav", text="Humming.")
    assert repr(voice) == "<Voice me.wav, 2.0 s, with its words>"
    assert remarks == ["me.wav: 44.1 kHz mono -> 16 kHz mono"]
    assert tts.speak("Hello.", voice=voice, **LIMITS).save("b.wav").read_bytes() == expected
    assert tts.speak("Hello.", voice="anna", **LIMITS).save("c.wav").read_bytes() == expected
    with pytest.raises(InputError, match=r"^there is a voice 'anna' already; replace=True replaces it$"):
        voice.save("anna")
    assert voice.save("bob").name == "bob.safetensors"
    assert tts.speak("Hello.", voice="bob", **LIMITS).save("d.wav").read_bytes() == expected


def test_a_voice_lives_as_long_as_it_is_used(tts: TTS) -> None:
    tone("me.wav")
    expected = tts.speak("Hello.", ref="me.wav", **LIMITS).audio
    rows: list[dict[str, object]] = [{"text": "Hello.", "voice": tts.voice("me.wav")}]
    path = rows[0]["voice"].path  # type: ignore[attr-defined]
    clips = tts.batch(rows, **LIMITS)
    rows.clear()
    gc.collect()
    assert path.exists()
    assert np.array_equal(next(clips).audio, expected)
    stream = tts.stream("Hello.", voice=tts.voice("me.wav"), **LIMITS) if next(clips, None) is None else None
    assert stream is not None
    samples = np.concatenate(list(stream))
    assert np.abs(samples - expected).max() <= 1e-4
    del clips
    gc.collect()
    assert not path.exists()


def test_a_voice_that_can_not_be_used(tts: TTS) -> None:
    Path("text.wav").write_text("no sound")
    with pytest.raises(InputError, match=r"^text\.wav: "):
        tts.voice("text.wav")
    tone("me.wav")
    with pytest.raises(InputError, match=r"^text has no letter and no digit"):
        tts.voice("me.wav", text="...")
