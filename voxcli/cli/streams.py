"""Standard streams as the commands need them, whatever they are when the program begins.

Closed ones (`2>&-`) are None in Python, and `print(..., file=None)` would put what is for people into the data on
stdout: they get stand-ins. Their numbers are taken as well, so that no file of the run gets them and whatever a library
prints there. A stream that fails later costs no data and no traceback; a character that its encoding lacks is escaped.
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
from voxcli.terminal import stdout_failed

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
    """Text that can't be written, on a full disk or into a closed pipe, is an OutputError, and so is all after it."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._failed: OutputError | None = None  # kept: libraries try a stream and hide what they find

    def write(self, text: str) -> int:
        with self._told():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _told(self) -> Iterator[None]:
        if self._failed is not None:
            raise self._failed
        try:
            yield
        except OSError as error:
            self._failed = stdout_failed(error)
            raise self._failed from error


class _Stderr:
    """Words for people that can't be written, on a full disk or into a closed pipe, end no run: they are lost."""

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
    """A closed or failing stderr is silent; a closed stdin or stdout is an error once it is used."""
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
    """What is left in its buffer has nowhere to go, and Python would complain of that when it ends."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


@atexit.register
def _flush_in_time() -> None:
    """What could not be printed has been told, or another error has: Python adds nothing when it ends."""
    if isinstance(sys.stdout, _Stdout):
        try:
            sys.stdout.flush()
        except (OutputError, ValueError):
            drop_stdout()
            sys.stdout = sys.stdout._stream


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    """A byte of a file's name that is no text stands as it is, any other character that can't be encoded as \\x..."""
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
