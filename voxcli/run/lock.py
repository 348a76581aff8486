"""A folder lock, so that only one run at a time writes into a folder. The system releases it when its process dies."""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from voxcli.errors import OutputError
from voxcli.files.in_place import has_other_names, open_in_place
from voxcli.files.names import LOCK_NAME

WRITTEN = re.compile(rb"process \d+ on [^\n]*\n?")  # content of a lock file
MAX_BYTES = 1000
# Error codes of file systems without locks, such as some network shares.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}

if sys.platform == "win32":
    import msvcrt

    BEHIND_THE_TEXT = 1 << 30  # locked bytes can't be read on Windows, and others must be able to read the holder

    def _take(file: BinaryIO) -> None:
        file.seek(BEHIND_THE_TEXT)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Locks `folder` for the duration of a `with` block. Raises OutputError, naming the holder, if it is locked.

    The file names the holder, but only the system's lock counts: a file left by a process that was killed is taken
    over.

    notify:    is called with a warning if the file system has no locks.
    left_over: an earlier run was killed or called `keep`: there may be files that no result describes.
    """

    def __init__(self, folder: Path, notify: Callable[[str], None]):
        self.folder = folder
        self.path = folder / LOCK_NAME
        self.notify = notify
        self.left_over = False
        self._file: BinaryIO | None = None
        self._kept = False

    def keep(self) -> None:
        """Leave the lock file behind: it tells the next run that not every file was recorded."""
        self._kept = True

    def __enter__(self) -> FolderLock:
        try:
            while self._file is None:
                self._file = self._open()
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            self._file.flush()
        except OSError as error:
            reason = error.strerror or f"{self.path} is {error}; remove it, or choose another folder"
            raise OutputError(f"can't lock {self.folder}: {reason}") from error
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._file is not None, "left without having been entered"
        with suppress(OSError):  # Windows can't remove an open file
            if not self._kept and self._is_there(self._file):
                self.path.unlink()  # before the lock is released: afterwards the file may belong to another run
        self._file.close()
        self._file = None

    def _open(self) -> BinaryIO | None:
        """Open and lock the file. Returns None if its last holder removed it meanwhile."""
        self.left_over = os.path.lexists(self.path)
        file = open_in_place(self.path)
        try:
            self._lock(file)
            if self._is_there(file):
                _check_ours(file)
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        return None

    def _is_there(self, file: BinaryIO) -> bool:
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(file.fileno()), os.lstat(self.path))
        return False

    def _lock(self, file: BinaryIO) -> None:
        try:
            _take(file)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                content = _content(file).decode(errors="replace").strip()
                holder = f"another run ({content})" if WRITTEN.fullmatch(content.encode()) else "another run"
                raise OutputError(
                    f"{holder} is writing into {self.folder}; wait for it to end, or choose another folder"
                ) from error
            self.notify(f"{self.folder} is on a file system without locks; make sure that no other run writes there")


def _check_ours(file: BinaryIO) -> None:
    """Raise OSError for a file that must not be overwritten: one with other content, or with a second hard link.

    A lock file that is empty or full of zeros is ours: a power cut leaves such files.
    """
    content = _content(file)
    if content.strip(b"\0") and not WRITTEN.fullmatch(content):
        raise OSError("a file of another program")
    if has_other_names(file):
        raise OSError("a hard link of another file")


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(MAX_BYTES)
