"""Files that come from anywhere: only regular ones are opened, and none is read whole that is larger than it may be.

Opening a pipe waits for its other end, and a device need not end at all. This module is a leaf.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

DIGEST_DIGITS = 16  # of a digest as results keep it: 64 bits


def check_regular(path: Path, limit: int | None = None) -> None:
    """Raise OSError for what is not there, is a folder, pipe, device or socket, or has more than `limit` bytes."""
    try:
        state = os.stat(path)
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from None
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(state.st_mode):
        raise OSError("not a regular file")
    if limit is not None and state.st_size > limit:
        raise _too_large(limit)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for anything else."""
    check_regular(path)
    return open(path, "rb")


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file of `limit` bytes at most. Raises OSError for anything else."""
    check_regular(path, limit)
    with open(path, "rb") as file:
        return read_stream(file, limit)


def read_named(path: Path, limit: int) -> bytes:
    """The same of what a person named on the command line, who may as well give the end of a pipe."""
    with open(path, "rb") as file:
        return read_stream(file, limit)


def read_stream(stream: BinaryIO, limit: int) -> bytes:
    """All that comes from a stream. Raises OSError as soon as it is more than `limit` bytes."""
    content = io.BytesIO()
    while block := stream.read(1 << 20):
        content.write(block)
        if content.tell() > limit:
            raise _too_large(limit)
    return content.getvalue()


def files_with(suffix: str, folder: Path) -> list[Path]:
    """The files of a folder whose names end so, in order; none where there is no such folder, or it can't be listed."""
    with suppress(OSError, ValueError):
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(suffix))
    return []


def _too_large(limit: int) -> OSError:
    return OSError(f"it is larger than {limit:,} bytes")


def content_digest(path: Path) -> str:
    """SHA-256 of a file, in hex. Raises OSError, also for what is not a regular file."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
