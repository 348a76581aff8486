"""What a path really is: two paths that lead to one file have one place, through links, mounts and spellings.

A file is written under a temporary name and renamed, so what matters is the folder that its name stands in. A folder
that is there is known by device and inode, one that is not yet by its names below the nearest one that is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from voxcli.files.names import one_name

MAX_DEPTH = 4096  # of folders: no path is longer


class Inode(NamedTuple):
    """A file or folder that is there, by whatever name."""

    device: int
    number: int


class Place(NamedTuple):
    """inode: of the nearest folder that is there; None where a system has no such numbers.
    below: the names from there on, as `one_name` has them.
    """

    inode: Inode | None
    below: str


def inode_of(path: str | Path | int) -> Inode | None:
    """Of what is there (or of a descriptor), links followed; None when nothing is, or the system has no numbers."""
    with suppress(OSError, ValueError):  # ValueError: a NUL in the name
        there = os.stat(path)
        if there.st_ino:
            return Inode(there.st_dev, there.st_ino)
    return None


def real_path(path: str | Path) -> str:
    """With all links followed, as far as it is there; as it stands when it is no path at all (a NUL in it)."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)


def folder_place(folder: str | Path) -> Place:
    """The place of a folder, there or not."""
    return place_of_real(real_path(folder))


def place_of_real(folder: str) -> Place:
    """The same of one with no link in it."""
    above, names = folder, ""
    for _ in range(MAX_DEPTH):
        if os.path.isdir(above) and (inode := inode_of(above)):
            return Place(inode, names)
        above, name = os.path.split(above)
        if not name:
            break
        names = f"{one_name(name)}/{names}"
    return Place(None, f"{one_name(folder)}/")
