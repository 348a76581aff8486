"""Show a notice once a day instead of at every command."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from voxcli.files.user_dirs import data_folder

DAY_S = 24 * 3600.0


def once_a_day(notice: str) -> bool:
    """Return True if `notice` (a file name) was not shown in the last 24 hours, and record that it is shown now.

    If that can't be recorded, for example in a container without a home folder, the result is always True.
    """
    path = data_folder() / "notices" / notice
    with suppress(OSError, ValueError):  # ValueError: a NUL in the name of the folder
        if 0 <= time.time() - path.stat().st_mtime < DAY_S:  # a time in the future comes from a wrong clock
            return False
    with suppress(OSError, ValueError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path)
    return True
