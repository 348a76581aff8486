"""The files that voices are read from: a run must not write over them, by whatever name it knows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from voxcli.errors import InputError
from voxcli.files.names import one_name


class Recordings:
    def __init__(self, paths: Iterable[Path]):
        self._places: dict[tuple[str, str], Path] = {}  # by real folder and name: one that is not there yet has these
        self._files: dict[tuple[int, int], Path] = {}  # by device and inode: one that is there, whatever its names
        self.within = lru_cache(maxsize=1024)(self._look_at)
        for path in dict.fromkeys(paths):
            with suppress(OSError, ValueError):  # ValueError: a NUL in the name, which is nobody's
                self._places.setdefault((os.path.realpath(path.parent), path.name), path)
                there = os.stat(path)
                self._files.setdefault((there.st_dev, there.st_ino), path)

    def at(self, path: Path) -> Path | None:
        """The recording that writing to `path` would replace."""
        return self.within(path.parent).get(one_name(path.name)) if self._places else None

    def refuse(self, path: Path) -> None:
        """Raises InputError."""
        if self.at(path) is not None:
            raise InputError(f"{path} is a recording that is spoken from: write to another file")

    def _look_at(self, folder: Path) -> Mapping[str, Path]:
        """The recordings in a folder by `one_name` of what they are called there."""
        found: dict[str, Path] = {}
        with suppress(OSError, ValueError):
            real = os.path.realpath(folder)
            found.update((one_name(name), path) for (place, name), path in self._places.items() if place == real)
            for name in os.listdir(real) if self._files else ():
                with suppress(OSError):
                    there = os.stat(os.path.join(real, name))
                    if path := self._files.get((there.st_dev, there.st_ino)):
                        found.setdefault(one_name(name), path)
        return found
