from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from voxcli.audio.encode import RAW, STREAMED, StreamEncoder
from voxcli.audio.pcm import pcm16
from voxcli.audio.wavstream import wav_header
from voxcli.audio.write import encode_audio
from voxcli.errors import InputError

RATE = 24_000
TIMES = np.arange(2 * RATE) / RATE
SOUND = (0.4 * np.sin(2 * np.pi * 330 * TIMES) * np.sin(2 * np.pi * 1.5 * TIMES)).astype(np.float32)


def parts(format: str, blocks: int = 16) -> list[bytes]:
    encoder = StreamEncoder(RATE, format)
    return [*(encoder.add(block) for block in np.array_split(SOUND, blocks)), encoder.end()]


def with_length(flac: bytes) -> bytes:
    """Put the number of samples into the header, whose 36 bits a stream leaves at zero: soundfile needs it."""
    head = bytearray(flac)
    assert head[:4] == b"fLaC" and not any(head[22:26]) and not head[21] & 15
    head[22:26] = len(SOUND).to_bytes(4, "big")
    return bytes(head)


@pytest.mark.parametrize("format", ["flac", "ogg", "opus"])
def test_what_is_streamed_sounds_as_the_file(format: str) -> None:
    streamed, file = b"".join(parts(format)), encode_audio(SOUND, RATE, format=format)
    whole, _ = soundfile.read(io.BytesIO(with_length(streamed) if format == "flac" else streamed))
    assert np.array_equal(whole, soundfile.read(io.BytesIO(file))[0])


def test_mp3_frames_are_those_of_the_file() -> None:
    streamed, file = b"".join(parts("mp3")), encode_audio(SOUND, RATE, format="mp3")
    assert len(streamed) == len(file)
    assert streamed[500:] == file[500:], "only the first frame, which has the length, differs"


def test_wav_and_bare_samples_are_those_of_the_command() -> None:
    assert b"".join(parts(RAW)) == pcm16(SOUND).tobytes()
    assert b"".join(parts("wav")) == wav_header(RATE) + pcm16(SOUND).tobytes()


@pytest.mark.parametrize("format", STREAMED)
def test_something_is_ready_long_before_the_end(format: str) -> None:
    made = parts(format)
    sizes = np.cumsum([len(part) for part in made])
    assert sizes[len(made) * 3 // 4] > sizes[-1] // 3


def test_a_stream_without_sound_has_a_header_only() -> None:
    assert StreamEncoder(RATE, "wav").end() == wav_header(RATE)
    assert StreamEncoder(RATE, RAW).end() == b""


def test_what_can_not_be_streamed_is_refused() -> None:
    with pytest.raises(InputError, match=r"^wav24 can't be streamed, only pcm, wav, flac, ogg, opus, mp3$"):
        StreamEncoder(RATE, "wav24")
    with pytest.raises(
        InputError, match=r"^ogg supports the sample rates 8000, 12000, 16000, 24000, 48000, not 44100$"
    ):
        StreamEncoder(44_100, "ogg")
