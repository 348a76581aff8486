"""One run at a time in a folder: a lock that the system itself takes away from a process that died."""

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

WRITTEN = re.compile(rb"process \d+ on [^\n]*\n?")  # what is in it
MAX_BYTES = 1000
# What a file system without locks answers: some network shares.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}

if sys.platform == "win32":
    import msvcrt

    BEHIND_THE_TEXT = 1 << 30  # a locked byte can't be read there, and others are to read who holds the lock

    def _take(file: BinaryIO) -> None:
        file.seek(BEHIND_THE_TEXT)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FolderLock:
    """Holds `folder` inside its `with` block; raises OutputError, naming the holder, when another process does.

    The file tells who holds the lock, the system decides whether it is held: a file left by a process that was killed,
    here or on another host, means nothing and is taken over. say: takes a remark when there are no locks here.

    left_over: a run ended here in which files may have landed that no result tells of: it was killed, or `keep` was
               called in it.
    """

    def __init__(self, folder: Path, notify: Callable[[str], None]):
        self.folder = folder
        self.path = folder / LOCK_NAME
        self.notify = notify
        self.left_over = False
        self._file: BinaryIO | None = None
        self._kept = False

    def keep(self) -> None:
        """Leave the file in the end, for the next run to see that this one did not note all it made."""
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
        with suppress(OSError):  # Windows keeps the name of a file that is open
            if not self._kept and self._is_there(self._file):
                self.path.unlink()  # before the lock goes: a name seen afterwards is another's
        self._file.close()
        self._file = None

    def _open(self) -> BinaryIO | None:
        """The file with the lock on it; None when its last holder took its name away meanwhile."""
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
                told = _content(file).decode(errors="replace").strip()
                holder = f"another run ({told})" if WRITTEN.fullmatch(told.encode()) else "another run"
                raise OutputError(
                    f"{holder} is writing into {self.folder}; wait for it to end, or choose another folder"
                ) from error
            self.notify(f"{self.folder} is on a file system without locks; let no other run write there")


def _check_ours(file: BinaryIO) -> None:
    """Raise OSError for a file that is not to be emptied: one with another content, or that has a name elsewhere.

    A machine that lost its power may leave an empty one, or one of zeros.
    """
    content = _content(file)
    if content.strip(b"\0") and not WRITTEN.fullmatch(content):
        raise OSError("another program's")
    if has_other_names(file):
        raise OSError("a hard link of another file")


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(MAX_BYTES)
