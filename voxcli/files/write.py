"""Write files atomically, and create their folders."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from voxcli import faults
from voxcli.errors import OutputError
from voxcli.files.names import unusable_name
from voxcli.files.sync import sync_file, sync_folder
from voxcli.interrupts import cleanup
from voxcli.terminal import printable

# Names of files being written, for `Path.glob`. A killed process leaves such files behind.
TEMPORARY = ".voxcpm2-*.part"
_TEMPORARY = re.compile(re.escape(TEMPORARY).replace(r"\*", "(?:probe-)?[0-9a-f]{32}"))


def is_temporary(name: str) -> bool:
    """True if `name` is that of a temporary file, which `sweep` may remove."""
    return _TEMPORARY.fullmatch(name) is not None


def check_place(path: Path) -> None:
    """Raise OutputError when no file can be written to `path`. Cheap, for use before the work; creates nothing."""
    if why := unusable_name(path):
        raise OutputError(f"{printable(path)}: can't be written ({why})")
    if os.path.isdir(path):
        raise OutputError(f"{printable(path)}: this is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise OutputError(f"{printable(path)}: there is no folder {printable(path.parent)}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{printable(path)}: no permission to write in {printable(path.parent)}")


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` to `path`, completely or not at all. Raises OutputError that names the file and the reason."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path`, synced to the disk, if the block ends without an error.

    Interrupts are held back until the block ends, so that no temporary file stays behind. A long block must call
    `interrupts.check`. Raises OutputError that names the file and the reason.
    """
    with cleanup(), _beside(path) as file:
        yield file


@contextmanager
def _beside(path: Path) -> Iterator[BinaryIO]:
    temporary = path.parent / TEMPORARY.replace("*", uuid.uuid4().hex)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with open(temporary, "x+b") as file:
            faults.point("write")
            yield file
            file.flush()
            faults.point("fsync")
            sync_file(file)
        faults.point("rename")
        os.replace(temporary, path)
        sync_folder(path.parent)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{printable(path)}: can't be written ({getattr(error, 'strerror', None) or error})"
        ) from error
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents unless they exist. Raises OutputError when that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{folder} is a file, not a folder") from error
    except OSError as error:
        raise OutputError(f"can't create the folder {folder}: {error.strerror or error}") from error


def sweep(folders: Iterable[Path], before: float) -> None:
    """Remove temporary files that killed runs left in `folders`, last modified before `before` (Unix time).

    Newer ones may belong to a running command. No other files are removed.
    """
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if is_temporary(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(entry.path)


def prepare_folder(folder: Path) -> None:
    """Create a folder and check that files can be written there. Raises OutputError when not."""
    make_folder(folder)
    try:
        with cleanup(), tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"can't write in {folder}: {error.strerror or error}") from error
