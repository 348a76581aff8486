"""A WAV file of 16 bit mono sound that goes to a stream while it is made.

Its header comes before its length is known: in a pipe it goes on as long as there is data. Where the stream is a
regular file the sizes are put right in the end, also when the sound was broken off.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.pcm import pcm16
from voxcli.terminal import format_duration, stream_failed

__all__ = ["Speaking", "WavStream", "wav_header", "write_stream"]

Samples = NDArray[np.float32]

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


class Speaking(Protocol):
    """Audio while it is made, here or on a server: float32 blocks at `rate` Hz."""

    @property
    def rate(self) -> int: ...
    @property
    def cut_off(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    def __iter__(self) -> Iterator[Samples]: ...


def write_stream(
    stream: Speaking, sink: BinaryIO, *, raw: bool, began: float | None = None, name: str = "stdout"
) -> str:
    """Write a stream as 16-bit WAV, or without the header if `raw`. Returns a one-line summary.

    began: when the audio was asked for, by perf_counter; None: now.
    name:  of the sink, for people.

    Raises OutputError when the reader has closed the stream or it can't be written.
    """
    began = time.perf_counter() if began is None else began
    first = 0.0
    samples = 0
    try:
        with _writer(sink, stream.rate, raw=raw) as write:
            for block in stream:
                if not len(block):
                    continue
                write(pcm16(block).tobytes())
                first = first or time.perf_counter() - began
                samples += len(block)
    except OSError as error:
        raise stream_failed(error, f" after {format_duration(samples / stream.rate)} of audio", name) from error
    kind = f"raw, 16 bit little endian, {stream.rate} Hz, mono" if raw else f"WAV, {stream.rate} Hz"
    return (
        f"{name} ({kind}): {'cut off at ' if stream.cut_off else ''}{format_duration(samples / stream.rate)} "
        f"of audio in {format_duration(time.perf_counter() - began)}, the first after {format_duration(first)}, "
        f"seed {stream.seed}"
    )


@contextmanager
def _writer(sink: BinaryIO, rate: int, *, raw: bool) -> Iterator[Callable[[bytes], object]]:
    """Writes samples on the way to whoever listens. A file that is not raw is one also when the sound is broken off."""
    if raw:

        def write(samples: bytes) -> None:
            sink.write(samples)
            sink.flush()

        yield write
        return
    file = WavStream(sink, rate)
    try:
        yield file.write
    except BaseException:
        with suppress(OSError):
            file.put_sizes()
        raise
    file.put_sizes()


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
