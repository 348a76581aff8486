"""Files and their names made to last through a power cut, where the file system can do that.

Shares of virtual machines, SMB, WSL and some FUSE file systems refuse to sync a folder, or even a file, though all that
is written there is whole. A refusal is no failure; what the system says of a disk that fails or is full is one.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

# What a system answers that has no such thing.
_REFUSED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY})
_REFUSED_FOLDER = _REFUSED | {errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}


def sync_file(file: BinaryIO) -> bool:
    """Whether what was written to the file is on the disk now. Raises OSError when it can't be brought there."""
    file.flush()
    return _sync(file.fileno(), _REFUSED)


def sync_folder(folder: Path) -> bool:
    """The same of the names in a folder. Windows has no such thing: a folder can't be opened there."""
    if os.name == "nt":
        return True
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # one may write into a folder that one can't read
        return False
    try:
        return _sync(descriptor, _REFUSED_FOLDER)
    finally:
        os.close(descriptor)


def sync_notice(folder: Path) -> str | None:
    """What people should know of files in this folder; None when they last as they should."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            synced = sync_file(file) and sync_folder(folder)
    except OSError:  # whoever writes there reports that
        return None
    if synced:
        return None
    return f"{folder} is on a file system that can't sync: after a power cut the newest files may be missing there"


def _sync(descriptor: int, refused: frozenset[int]) -> bool:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in refused:
            raise
        return False
    return True
