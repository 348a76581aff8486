"""Where files go: names that are safe on every system, inside the output folder and nowhere else."""

from __future__ import annotations

import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path, PureWindowsPath

from voxcli.audio.write import FORMATS, TEMPORARY
from voxcli.errors import InputError, OutputError

UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
DEFAULT_FORMAT = "wav"
LONGEST_NAME = 180  # bytes; file systems stop at 255, and a temporary name beside the file is longer

LONGEST_PART = 255  # bytes of one name in a path, on all usual file systems


def safe_name(identity: str) -> str:
    """A file name (without suffix) from an id; different ids may share one, which the caller must refuse."""
    name = UNSAFE.sub("_", unicodedata.normalize("NFC", identity)).strip(" .")
    name = name.encode()[:LONGEST_NAME].decode(errors="ignore").rstrip(" .")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def format_of(out: Path, named: str | None) -> str:
    """The format a file is written in: `named`, else what its suffix says. They must not contradict each other."""
    if named is not None:
        extension_of(named)
    fitting = _formats_with(out.suffix.lower())
    if not fitting:
        known = ", ".join(dict.fromkeys(map(extension_of, FORMATS)))
        raise InputError(f"can't tell the format of {str(out)!r}: end its name with one of {known}")
    if named is not None and named not in fitting:
        raise InputError(f"{out.name!r} can't hold format {named!r}")
    return named or fitting[0]


@lru_cache
def _formats_with(suffix: str) -> list[str]:
    return [name for name in FORMATS if extension_of(name) == suffix]


def extension_of(format_name: str | None) -> str:
    """The suffix, with its dot, of a format (None: the default one)."""
    if format_name is not None and format_name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {format_name!r}")
    return FORMATS[format_name or DEFAULT_FORMAT].extension


class OutputFolder:
    """The folder of a batch. Every path it hands out lies inside, symbolic links followed."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._inside: dict[Path, bool] = {}

    @cached_property
    def _real(self) -> str:
        return os.path.realpath(self.folder)

    def path_for(self, out: str | None, identity: str, format_name: str | None) -> Path:
        """The path of a line's file: its `out`, else its id. Raises InputError when that would leave the folder."""
        if out is None:
            return self.folder / (safe_name(identity) + extension_of(format_name))
        given = PureWindowsPath(out)  # knows both kinds of slash and drive letters
        if "\x00" in out or not given.name or given.drive or given.root or ".." in given.parts:
            raise InputError(f"out must be a path inside the output folder, not {out!r}")
        path = self.folder.joinpath(*given.parts)
        if not path.suffix:
            path = path.with_name(path.name + extension_of(format_name))
        if any(len(part.encode(errors="replace")) > LONGEST_PART for part in (*given.parts, path.name)):
            raise InputError(
                f"out has a name of more than {LONGEST_PART} bytes, which no file can have: {out[:40]!r}..."
            )
        parent = path.parent
        if parent not in self._inside:
            real = os.path.realpath(parent)
            self._inside[parent] = real == self._real or real.startswith(self._real.rstrip(os.sep) + os.sep)
        if not self._inside[parent]:
            raise InputError(f"out {out!r} leaves the output folder through a link")
        return path


class Recordings:
    """The files that voices are read from: a run must not write over them, by whatever name it knows them."""

    def __init__(self, paths: Iterable[Path]):
        self._real = lru_cache(maxsize=1024)(os.path.realpath)
        self._read: dict[str | tuple[int, int], Path] = {}
        for path in dict.fromkeys(paths):
            for mark in self._marks(path):
                self._read.setdefault(mark, path)

    def at(self, path: Path) -> Path | None:
        """The recording that writing to `path` would replace."""
        if not self._read:
            return None
        return next((self._read[mark] for mark in self._marks(path) if mark in self._read), None)

    def refuse(self, path: Path) -> None:
        """Raises InputError."""
        if self.at(path) is not None:
            raise InputError(f"{path} is a recording that is spoken from: write to another file")

    def _marks(self, path: Path) -> Iterator[str | tuple[int, int]]:
        """What tells a file: where it lies and, when it is there, which file it is."""
        with suppress(OSError, ValueError):  # ValueError: a NUL in the name, which is nobody's
            yield os.path.join(self._real(path.parent), path.name)
            there = os.stat(path)
            yield there.st_dev, there.st_ino


def make_folder(folder: Path) -> None:
    """Make it, and those above it, unless they are there. Raises OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{folder} is a file, not a folder") from error
    except OSError as error:
        raise OutputError(f"can't make the folder {folder}: {error.strerror or error}") from error


def sweep(folders: Iterable[Path], before: float) -> None:
    """Take away what killed runs left half written in `folders`: temporary files untouched since `before` (Unix time).

    Younger ones may be another command's, under way.
    """
    for folder in folders:
        for path in folder.glob(TEMPORARY):
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()


def prepare_folder(folder: Path) -> None:
    """Make it and prove that a file can be written there. Raises OutputError."""
    make_folder(folder)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OutputError(f"can't write in {folder}: {error.strerror or error}") from error
