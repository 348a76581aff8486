"""Messages of a loaded model: warnings, and nothing on stdout or stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

import voxcli
from tests.api.loaded import LIMITS, LONG
from voxcli import TTS

pytestmark = pytest.mark.usefixtures("here")


def test_messages_are_warnings_of_the_callers_line(tiny_checkpoint: Path) -> None:
    with voxcli.load(tiny_checkpoint) as tts, pytest.warns(voxcli.VoxWarning) as caught:
        clip = tts.speak(LONG, **LIMITS)
    assert clip.warnings[0] == "cut off at a length limit"
    assert [str(warning.message) for warning in caught] == [*clip.warnings]
    assert {warning.filename for warning in caught} == {__file__}


def test_nothing_is_printed(tts: TTS, capfd: pytest.CaptureFixture[str]) -> None:
    tts.speak("Hello there.", steps=2, max_seconds=0.5)
    list(tts.batch(["One.", {"text": "Two.", "ref": "none.wav"}], steps=2, max_seconds=0.5))
    assert capfd.readouterr() == ("", "")
