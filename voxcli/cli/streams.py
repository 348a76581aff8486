"""Stand-ins for standard streams that were closed when the program began (`2>&-`), and for a stderr that fails later.

Python has None for those, and `print(..., file=None)` would put what is for people into the data on stdout. Their
numbers are taken as well, so that no file of the run gets them and whatever a library prints there.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from voxcli.errors import InputError, OutputError


class _Stdin(io.TextIOBase):
    @property
    def buffer(self) -> Any:
        raise InputError("stdin is closed: nothing can be read from it")


class _Stdout(io.TextIOBase):
    @property
    def buffer(self) -> Any:
        raise OutputError("stdout is closed: nothing can be written to it")

    def write(self, text: str) -> int:
        raise OutputError("stdout is closed: nothing can be written to it")

    def fileno(self) -> int:
        return 1


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
        sys.stdout = _Stdout()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if not isinstance(sys.stderr, _Stderr):
        sys.stderr = cast(TextIO, _Stderr(sys.stderr))


def _take(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
