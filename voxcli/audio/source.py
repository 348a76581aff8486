"""Open untrusted audio files. A file that can't be a voice is refused in one line before any sample is read."""

from __future__ import annotations

import io
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import soundfile

from voxcli.audio.containers import HEAD_BYTES, refusal
from voxcli.errors import AudioError, reason_of
from voxcli.terminal import printable

__all__ = ["MAX_CHANNELS", "RATES", "check_end", "open_sound", "printable", "refuse_cut_off"]

MAX_CHANNELS = 8
RATES = range(8_000, 192_001)
# A minute of 192 kHz in 8 channels of doubles is 0.7 GB. A larger file is not a voice, and hashing it takes long.
MAX_BYTES = 2**30

# libsndfile accepts files shorter than their header says, and reports it only in its log.
_PROMISE = re.compile(r"^[ \t]*(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)", re.MULTILINE)
_OGG_PAGE = 65_307  # maximum size in bytes
# Lengths written by programs that do not know the real length (ffmpeg, sox and recorders writing to a pipe).
_UNKNOWN_LENGTH = (range(0x7FFF_F000, 0x8000_0000), range(0xFFFF_FF00, 0x1_0000_0000))


@contextmanager
def open_sound(path: Path, content: bytes | None = None) -> Iterator[tuple[BinaryIO, soundfile.SoundFile]]:
    """Open `path` once and yield it as bytes and as audio, so that both are of the same file.

    content: is opened instead, and `path` names it in errors.

    The content determines the format, not the extension. Raises AudioError for a file that is missing, not a regular
    file, not readable, not audio, cut off, empty, or beyond the limits above.
    """
    with _open_bytes(path) if content is None else io.BytesIO(content) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if not size:
            raise AudioError(f"{printable(path)}: the file is empty")
        if size > MAX_BYTES:
            raise AudioError(
                f"{printable(path)}: the file has {size / 1e9:.1f} GB; a voice is about a minute of speech"
            )
        if why := refusal(path, file.read(HEAD_BYTES)):
            raise AudioError(f"{printable(path)}: {why}")
        file.seek(0)
        if _is_cut_ogg(file, size):
            raise AudioError(f"{printable(path)}: the file is cut off; its last page is missing")
        try:
            sound = soundfile.SoundFile(_Source(file))
        except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError) as error:
            raise AudioError(f"{printable(path)}: not a sound file that can be read ({reason_of(error)})") from error
        with sound:
            _check_header(path, sound)
            yield file, sound


def _open_bytes(path: Path) -> BinaryIO:
    try:
        # Check before opening: opening a pipe would block.
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise AudioError(f"{printable(path)}: this is a folder, not a sound file")
        if not stat.S_ISREG(mode):
            raise AudioError(f"{printable(path)}: not a regular file")
        # By descriptor, so that soundfile sees no name and ignores extensions such as .raw.
        return open(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)), "rb")
    except FileNotFoundError:
        raise AudioError(f"{printable(path)}: no such file") from None
    except PermissionError:
        raise AudioError(f"{printable(path)}: no permission to read it") from None
    except (OSError, ValueError) as error:
        raise AudioError(f"{printable(path)}: can't be opened ({getattr(error, 'strerror', None) or error})") from error


class _Source:
    """A file for libsndfile that accepts seeks out of range, which damaged headers cause.

    An exception in its C callbacks would be printed.
    """

    def __init__(self, file: BinaryIO):
        self._file = file
        self.tell = file.tell
        self.readinto = file.readinto  # type: ignore[attr-defined]

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return self._file.seek(offset, whence)
        except (OSError, ValueError, OverflowError):  # before the start, or beyond any possible size
            return self._file.tell()


def _is_cut_ogg(file: BinaryIO, size: int) -> bool:
    """True for an Ogg file whose last page is not marked as the last (RFC 3533, header flag 4)."""
    head = file.read(4)
    file.seek(max(0, size - _OGG_PAGE))
    tail = file.read(_OGG_PAGE) if head == b"OggS" else b""
    file.seek(0)
    page = tail.rfind(b"OggS")
    return head == b"OggS" and (page < 0 or not tail[page + 5 : page + 6] or not tail[page + 5] & 4)


def _check_header(path: Path, sound: soundfile.SoundFile) -> None:
    if sound.samplerate not in RATES:
        limits = f"{RATES.start:,} to {RATES.stop - 1:,} Hz"
        raise AudioError(f"{printable(path)}: its sample rate is {sound.samplerate:,} Hz; {limits} can be used")
    if sound.channels > MAX_CHANNELS:
        raise AudioError(f"{printable(path)}: it has {sound.channels} channels; up to {MAX_CHANNELS} can be used")
    for match in _PROMISE.finditer(sound.extra_info):
        promised, there = int(match[1]), int(match[2])
        if promised > there and not any(promised in sizes for sizes in _UNKNOWN_LENGTH):
            refuse_cut_off(path, there / promised)
    if sound.frames <= 0:
        raise AudioError(f"{printable(path)}: there is no sound in it, only a header")


def check_end(path: Path, sound: soundfile.SoundFile) -> None:
    """Raise AudioError when the last tenth of a second can't be read. Moves the reading position.

    Needed for FLAC and MP3, whose headers do not show that a file was cut off.
    """
    try:
        sound.seek(max(0, sound.frames - sound.samplerate // 10))
        there = len(sound.read(sound.samplerate // 10, dtype="float32"))
    except soundfile.SoundFileError as error:
        raise AudioError(f"{printable(path)}: the file is damaged or cut off; its end can't be read") from error
    if not there:
        raise AudioError(f"{printable(path)}: the file is cut off; its end is missing")


def refuse_cut_off(path: Path, share: float) -> None:
    """Raise AudioError for a cut-off file. share: the part of it that exists."""
    percent = math.floor(100 * share)  # never rounded up to 100
    raise AudioError(
        f"{printable(path)}: the file is cut off; only {percent}% of the sound its header promises is there"
    )
