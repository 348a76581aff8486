"""A WAV file of 16 bit mono sound that goes to a stream while it is made.

Its header comes before its length is known: in a pipe it goes on as long as there is data. Where the stream is a
regular file the sizes are put right in the end, also when the sound was broken off.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

__all__ = ["WavStream", "wav_header"]

UNKNOWN = 0xFFFFFFFF  # the sizes in the header of a WAV file whose length is not known yet
SUBTYPE_PCM, MONO, BITS = 1, 1, 16
HEADER_BYTES = 44
RIFF_SIZE, DATA_SIZE = 4, 40  # where they stand


class WavStream:
    """Writes to `sink`, whose position is where the file begins. Raises OSError."""

    def __init__(self, sink: BinaryIO, rate: int):
        self._sink = sink
        self._file = _regular_file(sink)
        self._start = 0 if self._file is None else _end(self._file)
        self._bytes = 0
        sink.write(wav_header(rate))

    def write(self, samples: bytes) -> None:
        """Samples as `audio.pcm.pcm16` gives them."""
        self._sink.write(samples)
        self._sink.flush()
        self._bytes += len(samples)

    def put_sizes(self) -> None:
        """Put the sizes right of what has been written, where that can be done."""
        self._sink.flush()
        if self._file is None or HEADER_BYTES + self._bytes >= UNKNOWN:  # the header has no room for more
            return
        with _not_appending(self._file):
            back = os.lseek(self._file, 0, os.SEEK_CUR)
            for place, size in ((RIFF_SIZE, HEADER_BYTES - 8 + self._bytes), (DATA_SIZE, self._bytes)):
                os.lseek(self._file, self._start + place, os.SEEK_SET)
                os.write(self._file, struct.pack("<I", size))
            os.lseek(self._file, back, os.SEEK_SET)


def wav_header(rate: int) -> bytes:
    """Of 16 bit mono sound that goes on as long as there is data."""
    width = MONO * BITS // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, SUBTYPE_PCM, MONO, rate, rate * width, width, BITS)
    return struct.pack("<4sI4s", b"RIFF", UNKNOWN, b"WAVE") + form + struct.pack("<4sI", b"data", UNKNOWN)


def _regular_file(sink: BinaryIO) -> int | None:
    """The descriptor of a regular file; None for a pipe, a device, or what has none."""
    try:
        descriptor = sink.fileno()
    except (OSError, ValueError):  # what lies in memory
        return None
    return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _end(descriptor: int) -> int:
    """Where the next byte goes: `>>` leaves the position at 0 and writes to the end."""
    return os.fstat(descriptor).st_size if _flags(descriptor) & _APPEND else os.lseek(descriptor, 0, os.SEEK_CUR)


_APPEND = os.O_APPEND

if sys.platform == "win32":

    def _flags(descriptor: int) -> int:
        return 0  # there `>>` is a position

    @contextmanager
    def _not_appending(descriptor: int) -> Iterator[None]:
        yield

else:
    import fcntl

    def _flags(descriptor: int) -> int:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL)

    @contextmanager
    def _not_appending(descriptor: int) -> Iterator[None]:
        """With `>>` all that is written goes to the end, wherever the position is."""
        flags = _flags(descriptor)
        if flags & _APPEND:
            fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~_APPEND)
        try:
            yield
        finally:
            if flags & _APPEND:
                fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)
