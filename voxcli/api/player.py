"""Audio as HTML that plays by itself, for notebooks. Everything that is text is escaped."""

from __future__ import annotations

import base64
import html
import io

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.audio.pcm import pcm16
from voxcli.errors import shortened
from voxcli.terminal import printable

MAX_S = 600.0  # of audio in a page: 10 minutes at 48 kHz are 77 MB of base64
MAX_TEXT = 200  # characters


def player(samples: NDArray[np.float32] | None, rate: int, text: str, note: str) -> str:
    """Return a player for mono samples at `rate` Hz with a caption; None, and audio beyond MAX_S, have no player."""
    caption = html.escape(printable(shortened(text, MAX_TEXT)))
    small = html.escape(printable(note))
    if samples is None:
        sound = ""
    elif len(samples) > MAX_S * rate:
        sound = "<p>too long to play here: listen to a file, see <code>save</code></p>"
    else:
        data = base64.b64encode(wav_bytes(samples, rate)).decode("ascii")
        sound = f'<audio controls preload="metadata" src="data:audio/wav;base64,{data}"></audio>'
    return f'<figure style="margin:0">{sound}<figcaption>{caption} <small>({small})</small></figcaption></figure>'


def wav_bytes(samples: NDArray[np.float32], rate: int) -> bytes:
    """Return a WAV file of 16 bit."""
    file = io.BytesIO()
    soundfile.write(file, pcm16(samples), rate, format="WAV", subtype="PCM_16")
    return file.getvalue()
