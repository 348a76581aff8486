"""Prepare the standard streams, in whatever state they are when the program starts.

Closed streams (`2>&-`) are None in Python, and `print(..., file=None)` would write messages into the data on stdout.
They are replaced. Their descriptors are reserved too, so that no file of the run gets the descriptor of a stream that a
library prints to. A stream that fails later causes no traceback. Characters that its encoding lacks are escaped.
"""

from __future__ import annotations

import atexit
import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from voxcli.errors import InputError, OutputError
from voxcli.terminal import stream_failed

ESCAPED = "voxcpm2.escaped"  # an error handler for encodings


class _Stdin(io.TextIOBase):
    @property
    def buffer(self) -> Any:
        raise InputError("stdin is closed: nothing can be read from it")


class _ClosedStdout(io.TextIOBase):
    @property
    def buffer(self) -> Any:
        raise OutputError("stdout is closed: nothing can be written to it")

    def write(self, text: str) -> int:
        raise OutputError("stdout is closed: nothing can be written to it")

    def fileno(self) -> int:
        return 1


class _Stdout:
    """Turns a failed write, to a full disk or a closed pipe, into an OutputError. All later writes fail as well."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._failed: OutputError | None = None  # stored, because libraries may swallow the first error

    def write(self, text: str) -> int:
        with self._checked():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._checked():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _checked(self) -> Iterator[None]:
        if self._failed is not None:
            raise self._failed
        try:
            yield
        except OSError as error:
            self._failed = stream_failed(error)
            raise self._failed from error


class _Stderr:
    """Drops messages that can't be written, to a full disk or a closed pipe, instead of ending the run."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # ValueError: it was closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def stand_in() -> None:
    """Replace the standard streams: a closed stderr is silent; a closed stdin or stdout is an error when used."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            _take(number)
    if sys.stdin is None:
        sys.stdin = _Stdin()
    if sys.stdout is None:
        sys.stdout = _ClosedStdout()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)
        sys.stdout = cast(TextIO, _Stdout(sys.stdout))
    if not isinstance(sys.stderr, _Stderr):
        sys.stderr = cast(TextIO, _Stderr(sys.stderr))


def drop_stdout() -> None:
    """Discard the rest of stdout's buffer, so that Python prints no error about it at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


@atexit.register
def _flush_in_time() -> None:
    """Flush stdout before Python does, which would print an error in addition to ours."""
    if isinstance(sys.stdout, _Stdout):
        try:
            sys.stdout.flush()
        except (OutputError, ValueError):
            drop_stdout()
            sys.stdout = sys.stdout._stream


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write undecodable bytes of file names unchanged, and other characters the encoding lacks as \\x..."""
    assert isinstance(error, UnicodeEncodeError), "stdout is only written to"
    code = ord(error.object[error.start])
    if 0xDC80 <= code <= 0xDCFF:  # as os.fsdecode has it
        return bytes([code - 0xDC00]), error.start + 1
    return chr(code).encode("ascii", "backslashreplace").decode(), error.start + 1


codecs.register_error(ESCAPED, _escape)


def _take(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
