"""Stand-ins for standard streams that were closed when the program began (`2>&-`).

Python has None for those, and `print(..., file=None)` would put what is for people into the data on stdout. Their
numbers are taken as well, so that no file of the run gets them and whatever a library prints there.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

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


def stand_in() -> None:
    """A closed stderr is silent; a closed stdin or stdout is an error once it is used."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            _take(number)
    if sys.stdin is None:
        sys.stdin = _Stdin()
    if sys.stdout is None:
        sys.stdout = _Stdout()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _take(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)
