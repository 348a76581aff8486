"""Open files that are changed in place, without following links, so that no other file is changed."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def open_in_place(path: Path) -> BinaryIO:
    """Open a regular file for reading and appending; create it if it does not exist.

    Raises OSError for links and anything else that is not a regular file. For hard links see `has_other_names`.
    """
    with suppress(FileNotFoundError):
        _check_own(os.lstat(path))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    for name in (
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "O_BINARY",
    ):  # the path may have been replaced meanwhile; not on every system
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _check_own(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "a+b")


def has_other_names(file: BinaryIO) -> bool:
    """True if an open file has further hard links."""
    return os.fstat(file.fileno()).st_nlink > 1


def _check_own(state: os.stat_result) -> None:
    if stat.S_ISLNK(state.st_mode):
        raise OSError("a link")
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(state.st_mode):
        raise OSError("not a regular file")
