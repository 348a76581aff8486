"""Notices that are worth reading once, not at every command."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from voxcli.files.user_dirs import data_folder

DAY_S = 24 * 3600.0


def once_a_day(notice: str) -> bool:
    """Whether this user was not shown `notice` (a file name) in the last 24 hours; remembers that it was shown now.

    Where nothing can be remembered, in a container without a home or on a full disk, the answer is yes each time.
    """
    path = data_folder() / "notices" / notice
    with suppress(OSError, ValueError):  # ValueError: a NUL in the name of the folder
        if 0 <= time.time() - path.stat().st_mtime < DAY_S:  # one from the future comes from a wrong clock
            return False
    with suppress(OSError, ValueError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path)
    return True
