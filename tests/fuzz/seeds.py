"""Inputs to begin with: one of each kind, as small as the readers take it."""

from __future__ import annotations

import io
import struct

import numpy as np
import soundfile

SOUNDS = (
    ("WAV", "PCM_16", 8_000, 1),
    ("WAV", "PCM_24", 8_000, 2),
    ("WAV", "FLOAT", 8_000, 1),
    ("WAV", "ULAW", 8_000, 1),
    ("WAV", "ALAW", 8_000, 1),
    ("WAV", "IMA_ADPCM", 8_000, 1),
    ("RF64", "PCM_16", 8_000, 1),
    ("W64", "PCM_16", 8_000, 1),
    ("AIFF", "PCM_16", 8_000, 1),
    ("AU", "PCM_16", 8_000, 1),
    ("CAF", "PCM_16", 8_000, 1),
    ("FLAC", "PCM_16", 8_000, 1),
    ("OGG", "VORBIS", 8_000, 1),
    ("OGG", "OPUS", 8_000, 1),
    ("MP3", "MPEG_LAYER_III", 16_000, 1),
)

MANIFESTS = (
    b'\0{"id": "a", "text": "Hello.", "out": "x/y.flac", "seed": 7, "cfg": 2.0, "steps": 10}\n# a\n\n{"text": "b"}',
    b'\0{"text": "Hello.", "out": "../a.wav"}\n{"text": "Hello.", "out": "C:\\\\a.wav"}\n{"text": "b", "out": "\\0"}',
    b'\0{"text": "(warm)Hello.", "control": "slow", "ref": "voice", "prompt_audio": "voice", "prompt_text": "a"}',
    b'\1[\n {"id": "a", "text": "Hello."},\n {"id": 2, "text": "Hi.", "format": "mp3", "sample_rate": 8000}\n]',
    b"\2id,text,out\n1,Hello.,a.wav\n2,\"two, and\nmore\",b.wav\n",
    b"\2id;text;seed\n1;Hallo.;5\n",
    b"\3id\ttext\n1\tHello.\n",
    b"\4First line.\nSecond line.\r\n\xef\xbb\xbfThird.",
    b'\5{"text": "Hello.", "voice": "none", "preset": "fast", "level": -20, "pause_after": 1}',
)  # fmt: skip

TEXTS = tuple(
    bytes([bound]) + words.encode()
    for bound, words in (
        (0, "The wind came over the hill. Dr. Smith paid $3.50 at 10:30 a.m., e.g. by 2.5 per cent; he left."),
        (220, "# A title\n\n- one\n- **two**\n\n[a link](https://example.com/a?b=c) and `code`, _this_ <b>too</b>."),
        (5, "春天来了，花开了。「川は古い。」안녕하세요. Привет, мир! مرحبا بالعالم؟ नमस्ते।"),
        (9, "(a warm, slow voice)Hello “there” — it’s… fine \u200b\u00ad\ufeff👍🏽 e\u0301 {P IH N}"),
    )
)


# Bound, how often, then what comes before, what is repeated and what comes after; see tests/text/hostile.py.
REPEATED = (
    b"\x00\xffHi\x00\xe2\x80\xa6\x00x",
    b"\x00\xffa\x00.\x00b c",
    b"\x00\xffa\n\x00 \x00b",
    b"\x00\xff```\x00 \x00!",
    b"\x00\xff\x00-\x00x",
    b"\x00\xff(warm)$\x001\x00k",
    b"\x00\xff../\x00 \x00x",
    b"\xff\x80\x00no. <b>[1] \x00</b>",
)


def sound(container: str, subtype: str, rate: int, channels: int, seconds: float = 1.1) -> bytes:
    """A tone as a file."""
    time = np.arange(round(seconds * rate)) / rate
    tone = 0.3 * np.sin(2 * np.pi * 220 * time).astype(np.float32)
    file = io.BytesIO()
    soundfile.write(file, np.stack([tone] * channels, 1), rate, format=container, subtype=subtype)
    return file.getvalue()


def wav_header(size: int, *, rate: int = 16_000, channels: int = 1, bits: int = 16) -> bytes:
    """Of a WAV file that promises `size` bytes of sound."""
    width = channels * bits // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * width & 0xFFFFFFFF, width & 0xFFFF, bits)
    riff = struct.pack("<4sI4s", b"RIFF", min(size + 36, 2**32 - 1), b"WAVE")
    return riff + form + struct.pack("<4sI", b"data", size)


def seeds() -> dict[str, list[bytes]]:
    """By target."""
    promises = [wav_header(2**32 - 1), wav_header(2**31, channels=64), wav_header(20_000, rate=10_000_000)]
    return {
        "manifest": list(MANIFESTS),
        "text": list(TEXTS),
        "repeated": list(REPEATED),
        "audio": [*(sound(*kind) for kind in SOUNDS), *(head + bytes(20_000) for head in promises)],
    }
