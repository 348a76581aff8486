"""Paths as people write them -> the files they mean: `~` for the home folder, accents coded in one way or the other.

A shell replaces `~` where it stands alone at the start of a word: not in `--ref=~/a.wav`, in quotes, or in a manifest.
macOS stores names with decomposed accents, and archives bring them to other systems, where a name typed or written by a
program has composed ones.
"""

from __future__ import annotations

import os
import unicodedata
from contextlib import suppress
from pathlib import Path

__all__ = ["located"]


def located(name: str | Path, folder: Path = Path()) -> Path:
    """`folder / name`, or what it means where nothing is there. Asks the system for nothing but names."""
    path = folder / name
    if _is_there(path):
        return path
    if str(name).startswith("~"):  # stays as it is where it names no user
        path = folder / os.path.expanduser(name)
    return path if str(path).isascii() or _is_there(path) else _with_other_accents(path)


def _with_other_accents(path: Path) -> Path:
    """The path that is there and differs in nothing but how its accents are coded; else `path` itself."""
    found = Path(path.anchor)
    for place, part in enumerate(path.parts[len(found.parts) :], len(found.parts)):
        if _is_there(found / part):
            found /= part
        elif part.isascii() or (other := _other_name(found, part)) is None:
            return found.joinpath(*path.parts[place:])
        else:
            found /= other
    return found


def _other_name(folder: Path, name: str) -> str | None:
    composed = unicodedata.normalize("NFC", name)
    for form in (composed, unicodedata.normalize("NFD", name)):
        if _is_there(folder / form):
            return form
    with suppress(OSError, ValueError), os.scandir(folder) as entries:  # a name may be coded in both ways
        for entry in entries:
            if not entry.name.isascii() and unicodedata.normalize("NFC", entry.name) == composed:
                return entry.name
    return None


def _is_there(path: Path) -> bool:
    with suppress(OSError, ValueError):  # ValueError: a NUL in the name
        return os.path.lexists(path)
    return False
