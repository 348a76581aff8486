"""The player of a notebook."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
import soundfile

from tests.api.loaded import LIMITS
from voxcli import TTS, Speech

pytestmark = pytest.mark.usefixtures("here")


def test_a_player_shows_the_text_and_plays_the_samples(tts: TTS) -> None:
    clip = tts.speak("<b>Hello</b> & so on.", **LIMITS, sample_rate=16_000)
    page = clip._repr_html_()
    assert "&lt;b&gt;Hello&lt;/b&gt; &amp; so on." in page and "<b>" not in page
    found = re.search(r'src="data:audio/wav;base64,([^"]+)"', page)
    assert found is not None
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(found[1])), dtype="int16")
    clip.save("a.wav")
    assert rate == 16_000 and np.array_equal(samples, soundfile.read("a.wav", dtype="int16")[0])


def test_a_player_of_what_failed_says_why(tts: TTS) -> None:
    failed: Speech
    (failed,) = tts.batch([{"text": "One.", "ref": "<none>.wav"}])
    assert "<audio" not in failed._repr_html_() and "&lt;none&gt;.wav: no such file" in failed._repr_html_()
