"""Files that appear whole or not at all, and the folders they lie in."""

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
from voxcli.interrupts import cleanup
from voxcli.terminal import printable

# Names of files being written, for `Path.glob`: what a killed process leaves behind.
TEMPORARY = ".voxcpm2-*.part"
_TEMPORARY = re.compile(re.escape(TEMPORARY).replace(r"\*", "(?:probe-)?[0-9a-f]{32}"))


def is_temporary(name: str) -> bool:
    """Whether `sweep` may take a file of this name for what a killed process left."""
    return _TEMPORARY.fullmatch(name) is not None


def check_place(path: Path) -> None:
    """Raise OutputError when no file could be written there. Cheap, for before the work; creates nothing."""
    if why := unusable_name(path):
        raise OutputError(f"{printable(path)}: can't be written ({why})")
    if os.path.isdir(path):
        raise OutputError(f"{printable(path)}: this is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise OutputError(f"{printable(path)}: there is no folder {printable(path.parent)}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{printable(path)}: no permission to write in {printable(path.parent)}")


def write_atomic(path: Path, data: bytes) -> None:
    """Write `data` as `path`, whole or not at all. Raises OutputError, naming the file and the reason."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place, on the disk too, when the block ends without an error.

    An interrupt waits for the end of the block, so that nothing is left behind: one that takes long asks for it with
    `interrupts.check`.
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
            os.fsync(file.fileno())
        faults.point("rename")
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{printable(path)}: can't be written ({getattr(error, 'strerror', None) or error})"
        ) from error
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name last. Windows has no such thing: a folder can't be opened there."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make it, and those above it, unless they are there. Raises OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{folder} is a file, not a folder") from error
    except OSError as error:
        raise OutputError(f"can't make the folder {folder}: {error.strerror or error}") from error


def sweep(folders: Iterable[Path], before: float) -> None:
    """Take away what killed runs left half written in `folders`: temporary files untouched since `before` (Unix time).

    Younger ones may be another command's, under way. What has a name of any other kind is somebody's own.
    """
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if is_temporary(entry.name) and entry.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(entry.path)


def prepare_folder(folder: Path) -> None:
    """Make it and prove that a file can be written there. Raises OutputError."""
    make_folder(folder)
    try:
        with cleanup(), tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"can't write in {folder}: {error.strerror or error}") from error
