"""One run at a time in a folder: a lock that the system itself takes away from a process that died."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from voxcli.errors import OutputError
from voxcli.files.names import LOCK_NAME

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
    """

    def __init__(self, folder: Path, say: Callable[[str], None]):
        self.folder = folder
        self.path = folder / LOCK_NAME
        self.say = say
        self._file: BinaryIO | None = None

    def __enter__(self) -> FolderLock:
        try:
            while self._file is None:
                self._file = self._open()
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            self._file.flush()
        except OSError as error:
            raise OutputError(f"can't lock {self.folder}: {error.strerror or error}") from error
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._file is not None, "left without having been entered"
        with suppress(OSError):  # Windows keeps the name of a file that is open
            self.path.unlink(missing_ok=True)  # before the lock goes: a name seen afterwards is another's
        self._file.close()
        self._file = None

    def _open(self) -> BinaryIO | None:
        """The file with the lock on it; None when its last holder took its name away meanwhile."""
        file = open(self.path, "a+b")  # noqa: SIM115 - the lock is held as long as the file is open
        try:
            _take(file)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                holder = self._holder(file)
                file.close()
                raise OutputError(
                    f"{holder} is writing into {self.folder}; wait for it to end, or choose another folder"
                ) from error
            self.say(f"{self.folder} is on a file system without locks; let no other run write there")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path)):
                return file
        file.close()
        return None

    @staticmethod
    def _holder(file: BinaryIO) -> str:
        file.seek(0)
        told = file.read(200).decode(errors="replace").strip()
        return f"another run ({told})" if told else "another run"
