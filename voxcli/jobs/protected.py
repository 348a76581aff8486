"""Protect the inputs of a command from being overwritten, by whatever name they are given."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from voxcli.errors import InputError, quoted
from voxcli.files.names import one_name
from voxcli.files.places import Inode, Place, folder_place, inode_of, real_path
from voxcli.files.write import is_temporary
from voxcli.jobs.job import Job

MAX_FILES = 1000  # files of a model folder to protect; a model has about a dozen


class Input(NamedTuple):
    """An input. what: its role in messages, such as "the recording".  path: None if it is read from stdin."""

    what: str
    path: Path | None

    def __str__(self) -> str:
        return self.what if self.path is None else f"{self.what} {quoted(self.path)}"


class ProtectedInputs:
    """The inputs of one command, identified by their place, and by device and inode if they exist."""

    def __init__(self) -> None:
        self._places: dict[Place, dict[str, Input]] = {}  # by folder and `one_name`
        self._inodes: dict[Inode | None, Input] = {}
        self._seen: set[Path] = set()
        self._place_of_folder = lru_cache(maxsize=1024)(folder_place)

    def add(self, path: Path, what: str) -> None:
        """Protect a file, which need not exist."""
        if path in self._seen:
            return
        self._seen.add(path)
        found = Input(what, path)
        for name in (path, real_path(path)) if os.path.islink(path) else (path,):
            folder, key = self._place(name)
            self._places.setdefault(folder, {}).setdefault(key, found)
        if inode := inode_of(path):
            self._inodes.setdefault(inode, found)

    def add_voices(self, job: Job) -> None:
        """Protect the files of a job's voice."""
        for path in job.voices:
            self.add(path, "the voice" if path == job.voice else "the recording")

    def add_folder(self, folder: Path, what: str) -> None:
        """Protect the files in a folder, if it exists."""
        with suppress(OSError, ValueError), os.scandir(folder) as entries:
            for entry in islice(entries, MAX_FILES):
                self.add(folder / entry.name, what)

    def add_stream(self, stream: TextIO, what: str) -> None:
        """Protect the file that is redirected to a stream such as stdin, if any."""
        if inode := _inode_behind(stream):
            self._inodes.setdefault(inode, Input(what, None))

    def at(self, path: Path) -> Input | None:
        """Return the input that writing to `path` would replace."""
        folder, name = self._place(path)
        return self._places.get(folder, {}).get(name) or self._inodes.get(inode_of(path))

    def refuse(self, path: Path) -> None:
        """Raise InputError when `path` is an input."""
        if found := self.at(path):
            raise InputError(f"{path} would overwrite {found}: name another file")

    def refuse_stream(self, stream: TextIO, name: str) -> None:
        """Raise InputError when a stream such as stdout is redirected to an input."""
        if found := self._inodes.get(_inode_behind(stream)):
            raise InputError(f"{name} would overwrite {found}: name another file")

    def temporary(self) -> Iterator[Input]:
        """Yield the inputs that `sweep` would remove."""
        for names in self._places.values():
            yield from (found for name, found in names.items() if is_temporary(name))

    def within(self, folder: str) -> Mapping[str, Input]:
        """Return the inputs in a folder, by `one_name` of their names there."""
        found = dict(self._places.get(self._place_of_folder(folder), {}))
        numbers = {inode.number for inode in self._inodes if inode}
        with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
            for entry in entries:
                # stat only links and entries with the inode number of an input
                inode = inode_of(entry.path) if entry.is_symlink() or entry.inode() in numbers else None
                if inode in self._inodes:
                    found.setdefault(one_name(entry.name), self._inodes[inode])
        return found

    def _place(self, path: str | Path) -> tuple[Place, str]:
        """Return the folder's place and the name; links are not resolved."""
        folder, name = os.path.split(path)
        return self._place_of_folder(folder), one_name(name)


def _inode_behind(stream: TextIO) -> Inode | None:
    """Return the inode of the regular file behind a stream; None for anything else."""
    with suppress(OSError, ValueError, AttributeError):  # a stand-in for a closed stream has no descriptor
        number = stream.fileno()
        return inode_of(number) if stat.S_ISREG(os.fstat(number).st_mode) else None
    return None
