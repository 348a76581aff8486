"""Encode audio that arrives in blocks, for a reader that receives it meanwhile and can't be sent a correction."""

from __future__ import annotations

import io
import os

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.audio.formats import FORMATS, compression, rates_of
from voxcli.audio.pcm import pcm16
from voxcli.audio.wavstream import wav_header
from voxcli.errors import InputError

__all__ = ["RAW", "STREAMED", "StreamEncoder"]

RAW = "pcm"  # bare samples: 16 bit, little endian, mono
STREAMED = (RAW, "wav", "flac", "ogg", "opus", "mp3")  # formats whose beginning does not depend on their length

Samples = NDArray[np.float32]


class StreamEncoder:
    """Encodes float32 blocks at `rate` Hz. Raises InputError for a format that can't be streamed, or at that rate."""

    def __init__(self, rate: int, format: str, bitrate: int | None = None):
        if format not in STREAMED:
            raise InputError(f"{format} can't be streamed, only {', '.join(STREAMED)}")
        if format != RAW and (rates := rates_of(format)) and rate not in rates:
            raise InputError(f"{format} supports the sample rates {', '.join(map(str, rates))}, not {rate}")
        self._header = wav_header(rate) if format == "wav" else b""
        self._sink = _Outgoing()
        self._sound: soundfile.SoundFile | None = None
        if format not in (RAW, "wav"):
            kind = FORMATS[format]
            self._sound = soundfile.SoundFile(
                self._sink,
                "w",
                samplerate=rate,
                channels=1,
                format=kind.container,
                subtype=kind.subtype,
                **compression(kind, rate, bitrate),
            )
            self._rounded = kind.subtype == "PCM_16"

    def add(self, block: Samples) -> bytes:
        """Return the bytes that are ready; may be none."""
        if self._sound is None:
            header, self._header = self._header, b""
            return header + pcm16(block).tobytes()
        self._sound.write(pcm16(block) if self._rounded else block)
        return self._sink.take()

    def end(self) -> bytes:
        """Return the rest."""
        if self._sound is None:
            return self._header
        self._sound.close()
        return self._sink.take()


class _Outgoing:
    """A file for libsndfile whose beginning has been sent: what is written there again, lengths, is dropped."""

    def __init__(self) -> None:
        self._ready = bytearray()
        self._position = self._size = 0

    def write(self, data: bytes) -> int:
        new = self._position + len(data) - self._size
        if new > 0:
            self._ready += memoryview(data)[len(data) - new :]
            self._size += new
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        raise io.UnsupportedOperation("libsndfile does not read what it writes")

    def take(self) -> bytes:
        ready = bytes(self._ready)
        self._ready.clear()
        return ready
