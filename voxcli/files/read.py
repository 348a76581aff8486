"""Read untrusted files: only regular files are opened, and files above a size limit are not read.

Opening a pipe would block, and a device may be endless. This module imports no other module of the package.
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

DIGEST_DIGITS = 16  # hex digits of a digest in results: 64 bits


def check_regular(path: Path, limit: int | None = None) -> None:
    """Raise OSError unless `path` is an existing regular file of at most `limit` bytes."""
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
    """Read a regular file of at most `limit` bytes. Raises OSError for anything else."""
    check_regular(path, limit)
    with open(path, "rb") as file:
        return read_stream(file, limit)


def read_named(path: Path, limit: int) -> bytes:
    """Read a file named on the command line, which may also be a pipe. Raises OSError above `limit` bytes."""
    with open(path, "rb") as file:
        return read_stream(file, limit)


def read_stream(stream: BinaryIO, limit: int) -> bytes:
    """Read a stream to its end. Raises OSError as soon as it exceeds `limit` bytes."""
    content = io.BytesIO()
    while block := stream.read(1 << 20):
        content.write(block)
        if content.tell() > limit:
            raise _too_large(limit)
    return content.getvalue()


def files_with(suffix: str, folder: Path) -> list[Path]:
    """Return the files of a folder with a suffix, sorted; empty if the folder is missing or can't be listed."""
    with suppress(OSError, ValueError):
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(suffix))
    return []


def _too_large(limit: int) -> OSError:
    return OSError(f"it is larger than {limit:,} bytes")


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a regular file in hex. Raises OSError for anything else."""
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
