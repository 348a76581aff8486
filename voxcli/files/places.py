"""Identify files independently of links, mounts and spelling: all paths of one file have the same place.

Files are written under a temporary name and renamed, so a file's folder and name identify it. An existing folder is
identified by device and inode, a missing one by its path below the nearest existing folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from voxcli.files.names import one_name

MAX_DEPTH = 4096  # no path has more folders


class Inode(NamedTuple):
    """An existing file or folder, independent of its name."""

    device: int
    number: int


class Place(NamedTuple):
    """A folder, which need not exist.

    inode: the nearest existing folder; None if the system has no inode numbers.
    below: the path from there, with names in the form of `one_name`.
    """

    inode: Inode | None
    below: str


def inode_of(path: str | Path | int) -> Inode | None:
    """Return the inode of a path or descriptor, following links; None if it does not exist or has no number."""
    with suppress(OSError, ValueError):  # ValueError: a NUL in the name
        there = os.stat(path)
        if there.st_ino:
            return Inode(there.st_dev, there.st_ino)
    return None


def real_path(path: str | Path) -> str:
    """Resolve all links of a path, which need not exist. An invalid path (with a NUL) is returned unchanged."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)


def folder_place(folder: str | Path) -> Place:
    """Return the place of a folder, which need not exist."""
    return place_of_real(real_path(folder))


def place_of_real(folder: str) -> Place:
    """Return the place of a folder whose path has no links."""
    above, names = folder, ""
    for _ in range(MAX_DEPTH):
        if os.path.isdir(above) and (inode := inode_of(above)):
            return Place(inode, names)
        above, name = os.path.split(above)
        if not name:
            break
        names = f"{one_name(name)}/{names}"
    return Place(None, f"{one_name(folder)}/")
