"""results.jsonl: one line per finished job, synced to the disk before the next one is written.

The last line of an id is its state. If that is a failure, the last successful line is kept as well: a run that fails
does not discard the file of an earlier run, and the next run keeps it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from voxcli import faults
from voxcli.errors import OutputError
from voxcli.files.in_place import has_other_names, open_in_place
from voxcli.files.names import RESULTS_NAME
from voxcli.files.read import read_regular
from voxcli.files.sync import sync_file
from voxcli.files.write import write_atomic
from voxcli.jobs.history import Earlier, History
from voxcli.jobs.result import Result
from voxcli.run.resultlines import Line, kept_lines, read_lines

MAX_BYTES = 1 << 31  # maximum size of the file, about two million lines


def read_history(folder: Path) -> dict[str, History]:
    """Read the history of each id, in the order of their last results. Empty if there is no results file.

    Raises OutputError when the file can't be read or contains no results.
    """
    return _history(_read(folder / RESULTS_NAME)[1])


def read_earlier(folder: Path) -> Earlier:
    """Read what earlier runs into a folder recorded. Raises OutputError like `read_history`."""
    return Earlier(folder, read_history(folder))


def read_results(folder: Path) -> dict[str, Result]:
    """Read the last result of each id. Raises OutputError like `read_history`."""
    return {identity: history.last for identity, history in read_history(folder).items()}


class ResultLog:
    """Appends results and syncs them. Use it as a context manager.

    history: results of earlier runs, by id.
    broken:  a result could not be recorded.
    added:   how many of the results appended so far have a file.

    When a run begins and when it ends, lines that a crash cut off and superseded lines are dropped. Lines that are not
    results stay. At any time, the last line of an id is its state.

    Raises OutputError when a result can't be written, or when the file was removed or replaced, so that the next run
    would not find the result. Raises it on entry, without changing the file, if that is a link or contains no results.
    """

    def __init__(self, folder: Path):
        self.path = folder / RESULTS_NAME
        self.history: dict[str, History] = {}
        self.broken = False
        self.added = 0
        self._known: set[str] = set()  # ids in the file
        self._overtaken = False
        self._file: BinaryIO | None = None

    def __enter__(self) -> ResultLog:
        content, lines = _read(self.path)
        self.history = _history(lines)
        self._known = set(self.history)
        self._file = self._open()
        kept = kept_lines(lines)
        if kept != content or has_other_names(self._file):  # another hard link must not change
            self._file.close()
            write_atomic(self.path, kept)
            self._file = self._open()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if kind is None and self._overtaken:
            with suppress(OutputError):  # all results are recorded; if the disk is full, superseded lines just stay
                content, lines = _read(self.path)
                if (kept := kept_lines(lines)) != content:
                    write_atomic(self.path, kept)

    def append(self, *results: Result) -> None:
        """Append results with one sync for all of them. Raises OutputError when that fails."""
        assert self._file is not None, "a result log is written inside its `with` block"
        try:
            for result in results:
                faults.point("note")
                self._overtaken |= result.key in self._known
                self._known.add(result.key)
                self.added += result.ok
                self._file.write(json.dumps(result.recorded(), ensure_ascii=False).encode() + b"\n")
            sync_file(self._file)
            there = self._in_its_place(self._file)
        except OSError as error:
            self.broken = True
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
        if not there:
            raise OutputError(f"{self.path} was removed or replaced while results were written to it")

    def _open(self) -> BinaryIO:
        try:
            return open_in_place(self.path)
        except OSError as error:
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error

    def _in_its_place(self, file: BinaryIO) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.lstat(self.path))
        except FileNotFoundError:
            return False


NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def _read(path: Path) -> tuple[bytes, list[Line]]:
    """Return the file's content and its lines. Raises OutputError."""
    if os.path.islink(path):
        raise OutputError(f"{path} is a link: a run writes nothing outside its folder")
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError as error:
        if error.errno in NOT_THERE:  # if the folder is not a folder, the write reports that
            return b"", []
        raise OutputError(f"can't read {path}: {error.strerror or error}") from error
    lines = list(read_lines(content))
    if lines and all(line.result is None for line in lines):
        raise OutputError(f"{path} contains no results of voxcpm2: move it away, or choose another folder")
    return content, lines


def _history(lines: Iterable[Line]) -> dict[str, History]:
    histories: dict[str, History] = {}
    for line in lines:
        if (result := line.result) is not None:
            before = histories.pop(result.key, None)
            earlier = None if before is None else before.good
            histories[result.key] = History(result, result if result.ok else earlier)
    return histories
