"""The files that a command is going to write, each with its owner: no two owners may have one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from voxcli.files.names import one_name
from voxcli.files.places import Place, folder_place, place_of_real, real_path
from voxcli.jobs.protected import Input, ProtectedInputs

Owner = TypeVar("Owner")
Key = tuple[int, str]  # the number of a folder, and a name in it


class OutputRegistry(Generic[Owner]):
    """Compares files by what they really are, as ProtectedInputs does, and by names that some system takes for one."""

    def __init__(self) -> None:
        self._owners: dict[Key, Owner] = {}
        self._first: dict[str, Owner] = {}  # by folder as given: one whose file lies in it
        self._links: dict[int, dict[str, str]] = {}  # by folder: its names that are links, and where they lead
        self._numbers: dict[str, int] = {}  # of folders as given
        self._known: dict[Place | str, int] = {}  # the same by place, and by name

    def claim(self, path: Path, owner: Owner) -> Owner | None:
        """Give a file to `owner`; who has it already, if somebody has."""
        folder, _, name = str(path).rpartition(os.sep)  # os.path.split takes three times as long
        if not folder and path.is_absolute():
            folder = path.anchor
        key = self._number(folder), one_name(name)
        if key in self._owners:
            return self._owners[key]
        if folder not in self._first:
            self._first[folder] = owner
            self._links.setdefault(key[0], _links_in(folder))
        if link := self._links[key[0]].get(key[1]):
            there = self._number(os.path.dirname(link)), one_name(os.path.basename(link))
            if there in self._owners:
                return self._owners[there]
            self._owners[there] = owner
        self._owners[key] = owner
        return None

    def overwritten(self, inputs: ProtectedInputs) -> Iterator[tuple[Owner, Input]]:
        """The outputs that are inputs, each once."""
        seen: set[int] = set()
        for folder in self._first:
            number = self._numbers[folder]
            for name, found in inputs.within(folder).items():
                owner = self._owners.get((number, name))
                if owner is not None and id(owner) not in seen:
                    seen.add(id(owner))
                    yield owner, found

    def in_the_way(self) -> Iterator[tuple[Owner, str, Owner]]:
        """The files that would have to be folders for others."""
        for folder, owner in self._first.items():
            inode, names = folder_place(folder)
            above = ""
            for name in names.split("/")[:-1]:
                number = self._known.get(Place(inode, above), -1)
                if (other := self._owners.get((number, name))) is not None:
                    yield owner, name, other
                above += f"{name}/"

    def _number(self, folder: str) -> int:
        number = self._numbers.get(folder)
        if number is None:
            real = real_path(folder)
            keys = place_of_real(real), one_name(real)
            number = next((self._known[key] for key in keys if key in self._known), len(self._known))
            for key in keys:
                self._known.setdefault(key, number)
            self._numbers[folder] = number
        return number


def _links_in(folder: str) -> dict[str, str]:
    """Where the links in a folder lead, by `one_name` of their names."""
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        return {one_name(entry.name): real_path(entry.path) for entry in entries if entry.is_symlink()}
    return {}
