"""Recordings in formats that libsndfile does not read, recognized by their first bytes, as of phones and recorders."""

from __future__ import annotations

import shlex
from pathlib import Path

__all__ = ["HEAD_BYTES", "refusal"]

HEAD_BYTES = 16
_BY_START = (
    (b"\x1a\x45\xdf\xa3", "a Matroska or WebM file"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media file"),
    (b"#!AMR", "an AMR recording"),
    (b"ADIF", "an AAC file"),
    (b"FLV\x01", "a Flash video"),
    (b"MAC ", "a Monkey's Audio file"),
    (b"wvpk", "a WavPack file"),
    (b"DSD ", "a DSD recording"),
)


def refusal(path: Path, head: bytes) -> str | None:
    """What a file that begins so is, and the command that makes one of it that can be read; None for any other."""
    what = _kind(head)
    if what is None:
        return None
    target = path.with_suffix(".wav")
    if target == path:  # its name says another thing than its content, and ffmpeg can't write what it reads
        target = path.with_suffix(".converted.wav")
    source, target_name = shlex.quote(str(path)), shlex.quote(str(target))
    return f"{what}, which can't be read here; convert it first: ffmpeg -i {source} {target_name}"


def _kind(head: bytes) -> str | None:
    if head[4:8] == b"ftyp":
        return "an MPEG-4 audio file (AAC)" if head[8:11] in (b"M4A", b"M4B") else "an MPEG-4 file"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "an AVI video"
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:  # ADTS: what would be MP3 of no layer
        return "an AAC file"
    return next((what for start, what in _BY_START if head.startswith(start)), None)
