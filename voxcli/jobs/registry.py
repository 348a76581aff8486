"""The files that a command will write and their owners: no two owners may write the same file."""

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
Key = tuple[int, str]  # a folder's number and a file name


class OutputRegistry(Generic[Owner]):
    """Assigns files to owners. Paths are the same file if they resolve to one place, or differ only in case.

    Names that some systems consider equal count as equal on every system (see `one_name`).
    """

    def __init__(self) -> None:
        self._owners: dict[Key, Owner] = {}
        self._first: dict[str, Owner] = {}  # the first owner of a file in a folder, by folder as given
        self._links: dict[int, dict[str, str]] = {}  # by folder number: targets of its links, by name
        self._numbers: dict[str, int] = {}  # folder numbers, by folder as given
        self._known: dict[Place | str, int] = {}  # folder numbers, by place and by name

    def claim(self, path: Path, owner: Owner) -> Owner | None:
        """Give a file to `owner`. Returns the owner who already has it, else None."""
        folder, _, name = str(path).rpartition(os.sep)  # os.path.split takes three times as long
        if not folder and path.is_absolute():
            folder = path.anchor
        return self.claim_in(folder, name, owner)

    def claim_in(self, folder: str, name: str, owner: Owner) -> Owner | None:
        """Give the file `name` of a folder to `owner`. The same as `claim`, for callers who have the parts."""
        number = self._numbers.get(folder)
        if number is None:
            number = self._number(folder)
        key = number, one_name(name)
        if key in self._owners:
            return self._owners[key]
        if folder not in self._first:
            self._first[folder] = owner
            self._links.setdefault(number, _links_in(folder))
        links = self._links[number]
        if links and (link := links.get(key[1])):
            there = self._number(os.path.dirname(link)), one_name(os.path.basename(link))
            if there in self._owners:
                return self._owners[there]
            self._owners[there] = owner
        self._owners[key] = owner
        return None

    def overwritten(self, inputs: ProtectedInputs) -> Iterator[tuple[Owner, Input]]:
        """Yield the owners whose file is an input, each once."""
        seen: set[int] = set()
        for folder in self._first:
            number = self._numbers[folder]
            for name, found in inputs.within(folder).items():
                owner = self._owners.get((number, name))
                if owner is not None and id(owner) not in seen:
                    seen.add(id(owner))
                    yield owner, found

    def in_the_way(self) -> Iterator[tuple[Owner, str, Owner]]:
        """Yield an owner, a folder name and another owner, where the other's file has the name of the folder."""
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
    """Return the targets of the links in a folder, by `one_name` of their names."""
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        return {one_name(entry.name): real_path(entry.path) for entry in entries if entry.is_symlink()}
    return {}
