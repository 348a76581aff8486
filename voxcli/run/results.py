"""results.jsonl: one line for each job as it ends, on the disk before the next is written.

The last line of an id is its state. Before it stays the last one that was ok, if that is another: a run that merely
fails does not undo what an earlier one made, and the next one keeps it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from voxcli import faults
from voxcli.errors import OutputError
from voxcli.files.in_place import has_other_names, open_in_place
from voxcli.files.names import RESULTS_NAME
from voxcli.files.read import read_regular
from voxcli.files.write import write_atomic
from voxcli.jobs.result import Result
from voxcli.run.resultlines import Line, kept_lines, read_lines

MAX_BYTES = 1 << 31  # of the file: two million lines


@dataclass(frozen=True)
class History:
    """What earlier runs noted of one line.

    last:  how it ended last.
    good:  how it ended when it last gave a file; None when it never did.
    """

    last: Result
    good: Result | None


def read_history(folder: Path) -> dict[str, History]:
    """Of each id, in the order of their last ends; none where no run has been.

    Raises OutputError when it can't be read, or is another program's.
    """
    return _history(_read(folder / RESULTS_NAME)[1])


def read_results(folder: Path) -> dict[str, Result]:
    """How each line ended last."""
    return {identity: history.last for identity, history in read_history(folder).items()}


class ResultLog:
    """Appends results and syncs each one. Raises OutputError when that can't be done, or would be in vain: when the
    file is no longer where the next run will look for it. Raises it too, and changes nothing, for a file that is
    another program's, or is a link.

    history: what earlier runs noted.
    broken:  something could not be noted.

    Whoever reads the file meanwhile takes the last line of an id for its state. When a run begins and when it ends,
    lines that were torn by a crash or overtaken by later ones are dropped; those that are no results stay.
    """

    def __init__(self, folder: Path):
        self.path = folder / RESULTS_NAME
        self.history: dict[str, History] = {}
        self.broken = False
        self._known: set[str] = set()  # ids that are in the file
        self._overtaken = False
        self._file: BinaryIO | None = None

    def __enter__(self) -> ResultLog:
        content, lines = _read(self.path)
        self.history = _history(lines)
        self._known = set(self.history)
        self._file = self._open()
        kept = kept_lines(lines)
        if kept != content or has_other_names(self._file):  # what has a name elsewhere stays there as it is
            self._file.close()
            write_atomic(self.path, kept)
            self._file = self._open()
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if kind is None and self._overtaken:
            with suppress(OutputError):  # all is noted: a disk that is full now leaves just more lines than needed
                content, lines = _read(self.path)
                if (kept := kept_lines(lines)) != content:
                    write_atomic(self.path, kept)

    def append(self, *results: Result) -> None:
        """Results that landed together share one sync."""
        assert self._file is not None, "a result log is written inside its `with` block"
        try:
            for result in results:
                faults.point("note")
                self._overtaken |= result.id in self._known
                self._known.add(result.id)
                self._file.write(json.dumps(vars(result), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            there = self._in_its_place(self._file)
        except OSError as error:
            self.broken = True
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
        if not there:
            raise OutputError(f"{self.path} was taken away or replaced while results were written to it")

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
    """What is in the file, and its lines. Raises OutputError."""
    if os.path.islink(path):
        raise OutputError(f"{path} is a link: a run writes nothing outside its folder")
    try:
        content = read_regular(path, MAX_BYTES)
    except OSError as error:
        if error.errno in NOT_THERE:  # nor is the folder a folder: whoever writes there reports that
            return b"", []
        raise OutputError(f"can't read {path}: {error.strerror or error}") from error
    lines = list(read_lines(content))
    if lines and all(line.result is None for line in lines):
        raise OutputError(f"{path} is another program's, it holds no results: move it away, or choose another folder")
    return content, lines


def _history(lines: Iterable[Line]) -> dict[str, History]:
    histories: dict[str, History] = {}
    for line in lines:
        if (result := line.result) is not None:
            before = histories.pop(result.id, None)
            earlier = None if before is None else before.good
            histories[result.id] = History(result, result if result.ok else earlier)
    return histories
