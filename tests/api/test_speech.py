"""`Speech`: its audio, its values and its files, beside those of the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import voxcli
from tests.api.loaded import LIMITS, LONG, options_of
from voxcli import TTS
from voxcli.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize("file", ["a.wav", "a.flac", "a.ogg", "a.mp3"])
def test_files_have_the_bytes_of_the_command(tts: TTS, command: Callable[..., bytes], file: str) -> None:
    clip = tts.speak(LONG, **LIMITS, sample_rate=24_000)
    assert clip.save(Path("own", file)) == Path("own", file)
    assert Path("own", file).read_bytes() == command(LONG, file, *options_of(LIMITS), "--sample-rate", "24000")


@pytest.mark.parametrize(
    "settings",
    [
        {"cfg": 3.0},
        {"solver": "ab2", "steps": 4},
        {"min_seconds": 1.2},
        {"level": -20.0, "sample_rate": 16_000},
        {"format": "wav24"},
        {"format": "ulaw"},
        {"loudness": -30.0},
        {"bitrate": 32, "format": "mp3"},
    ],
)
def test_settings_are_those_of_the_command(tts: TTS, command: Callable[..., bytes], settings: dict[str, Any]) -> None:
    values = LIMITS | settings
    clip = tts.speak("Hello there.", **values)
    suffix = ".mp3" if settings.get("format") == "mp3" else ".wav"
    file = clip.save(f"own{suffix}").read_bytes()
    assert file == command("Hello there.", f"a{suffix}", *options_of(values))


def test_speech_has_the_audio_and_what_is_known_of_it(tts: TTS, remarks: list[str]) -> None:
    clip = tts.speak(LONG, **LIMITS)
    assert clip.sample_rate == tts.sample_rate == 24_000
    assert clip.audio.dtype == np.float32 and clip.audio.shape == (36_000,)
    assert clip.duration_s == 1.5
    assert (clip.text, clip.seed, clip.error, clip.result.stop_reason) == (LONG, 9, None, "length")
    assert clip.cues[0].start == 0.0 and clip.cues[0].text == "The wind came over the hill. It did not stop there."
    assert clip.warnings[0] == "cut off at a length limit"
    assert remarks == [*clip.warnings]
    assert repr(clip) == "<Speech 'speech', 1.5 s at 24000 Hz, seed 9>"
    again = tts.speak(LONG, **LIMITS)
    assert np.array_equal(clip.audio, again.audio)


def test_the_model_is_not_overwritten(tts: TTS, tiny_checkpoint: Path) -> None:
    target = tiny_checkpoint / "sound.wav"
    target.touch()
    try:
        with pytest.raises(InputError, match=r"would overwrite the model "):
            voxcli.TTS.speak(tts, "One.", steps=2, max_seconds=0.5).save(target)
    finally:
        target.unlink()
