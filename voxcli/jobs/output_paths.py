"""Choose output paths: names that are safe on every system, inside the output folder only."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from voxcli.audio.formats import DEFAULT_FORMAT, EXTENSIONS, FORMATS
from voxcli.errors import InputError, quoted
from voxcli.files.names import LOCK_NAME, MAX_NAME_BYTES, RESULTS_NAME, safe_name, unusable_name

if TYPE_CHECKING:
    from voxcli.jobs.job import Job

STDOUT = Path("-")
SURELY_SHORT = 50  # characters; even at four bytes each and with a suffix, this is below every limit
PLAIN_PATH = re.compile(r"(?:[a-z0-9_-][a-z0-9_. -]*/)*[a-z0-9_-][a-z0-9_. -]*", re.ASCII | re.IGNORECASE)


def in_its_format(job: Job) -> Job:
    """Return the job of a command that speaks one text, in the format of its file or for STDOUT. Raises InputError."""
    return replace(job, format="wav" if job.out == STDOUT else format_of(job.out, job.settings.format))


def format_of(out: Path, named: str | None) -> str:
    """Return the format of a file: `named`, else that of its suffix. Raises InputError if they contradict."""
    if named is not None:
        extension_of(named)
    fitting = _formats_with(out.suffix.lower())
    if not fitting:
        raise InputError(f"can't tell the format of {quoted(out)}: end its name with one of {', '.join(EXTENSIONS)}")
    if named is not None and named not in fitting:
        raise InputError(f"{quoted(out.name)} can't hold format {quoted(named)}")
    return named or fitting[0]


@lru_cache
def _formats_with(suffix: str) -> list[str]:
    return [name for name in FORMATS if extension_of(name) == suffix]


def extension_of(format_name: str | None) -> str:
    """Return the suffix of a format, with its dot. None: the default format. Raises InputError if it is unknown."""
    if format_name is not None and format_name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {quoted(format_name)}")
    return FORMATS[format_name or DEFAULT_FORMAT].extension


class OutputFolder:
    """The output folder of a batch. Returns only paths that lie inside it after resolving symbolic links."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._folders_in = lru_cache(maxsize=1024)(self._look_at)

    @property
    def run_files(self) -> tuple[Path, ...]:
        """The files that the run itself writes into the folder."""
        return self.folder / RESULTS_NAME, self.folder / LOCK_NAME

    @cached_property
    def _real(self) -> str:
        return os.path.realpath(self.folder)

    def path_for(self, out: str | None, identity: str, format_name: str | None) -> Path:
        """Return the path of a line's file, from its `out` or its id. Raises InputError if that can't be written."""
        if out is None:
            below, name = "", safe_name(identity) + extension_of(format_name)
        else:
            below, name = _folder_and_name(out)
            if not 0 < name.rfind(".") < len(name) - 1:
                name += extension_of(format_name)
            if len(out) > SURELY_SHORT and any(_bytes(part) > MAX_NAME_BYTES for part in (*below.split("/"), name)):
                raise InputError(
                    f"out has a name of more than {MAX_NAME_BYTES} bytes, which no file can have: {quoted(out)}"
                )
        path = self.folder / (f"{below}/{name}" if below else name)
        self._check(path, below, name)
        return path

    def check(self, path: Path) -> None:
        """Raise InputError if a path inside the folder can't be written."""
        below = path.parent.relative_to(self.folder).as_posix()
        self._check(path, "" if below == "." else below, path.name)

    def _check(self, path: Path, below: str, name: str) -> None:
        if len(name) + len(below) > SURELY_SHORT and (why := unusable_name(path)):
            raise InputError(f"its file can't have the path {quoted(path)}: {why}")
        if name in self._folders_in(below):
            raise InputError(f"output {quoted(name)} is an existing folder: name a file")

    def _look_at(self, below: str) -> frozenset[str]:
        """Return the folders inside the subfolder `below`. Raises InputError when no file can be written there."""
        real = os.path.realpath(self.folder / below)
        if real != self._real and not real.startswith(self._real.rstrip(os.sep) + os.sep):
            raise InputError(f"out {quoted(below)} leaves the output folder through a link")
        parts = below.split("/") if below else []
        if parts[:1] and parts[0].lower() in (RESULTS_NAME, LOCK_NAME):
            raise InputError(f"out can't be inside {parts[0]}: the run itself writes that file")
        above = str(self.folder)
        for part in parts:
            above = f"{above}{os.sep}{part}"
            if not os.path.exists(above):
                break
            if not os.path.isdir(above):
                raise InputError(f"out can't be inside {above}: that is a file")
        with suppress(OSError), os.scandir(real) as entries:  # it does not exist yet or can't be listed
            return frozenset(entry.name for entry in entries if _is_folder(entry))
        return frozenset()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that is broken, circular or not permitted
        return False


def _folder_and_name(out: str) -> tuple[str, str]:
    """Split a path of a manifest into folder and name. Raises InputError when it leaves the output folder."""
    if PLAIN_PATH.fullmatch(out):
        below, _, name = out.rpartition("/")
        return below, name
    given = PureWindowsPath(out)  # understands both kinds of slash and drive letters
    if "\x00" in out or not given.name or given.drive or given.root or ".." in given.parts or given.parts[0] == "~":
        raise InputError(f"out must be a path inside the output folder, not {quoted(out)}")
    return "/".join(given.parts[:-1]), given.name


def _bytes(name: str) -> int:
    return len(name.encode(errors="replace"))
