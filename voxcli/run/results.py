"""results.jsonl: one line for each job as it ends, on the disk before the next is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from voxcli import faults
from voxcli.errors import OutputError
from voxcli.files.names import RESULTS_NAME
from voxcli.files.read import open_regular
from voxcli.files.write import write_atomic
from voxcli.jobs.result import Cue, Result

MOST = 1e9  # seconds, and what they are divided by each other: more is no length of sound or work


def read_results(folder: Path) -> dict[str, Result]:
    """The last result of each id, in the order of their ends; none where no run has been. Raises OutputError."""
    names = Result.__dataclass_fields__.keys()
    results: dict[str, Result] = {}
    for _, values in _lines(folder / RESULTS_NAME):
        known = {name: value for name, value in values.items() if name in names}
        with suppress(TypeError, KeyError):  # of a version with other fields: as if it had not been
            known["cues"] = tuple(Cue(*cue) for cue in known.get("cues") or ())
            for name in ("warnings", "voice_notes"):
                known[name] = tuple(known.get(name) or ())
            result = Result(**known)
            if _holds(result):
                results.pop(result.id, None)
                results[result.id] = result
    return results


def _holds(result: Result) -> bool:
    """Whether every field is of its kind: people edit files, and other programs write them."""
    seconds = (result.duration_s, result.wall_s, result.rtf)
    counts = (result.patches, result.attempts, result.sample_rate, result.seed)
    words = (result.stop_reason, result.sha256, result.finished, result.error)
    return (
        all(map(_is_text, (result.id, result.out, result.text, *result.warnings, *result.voice_notes)))
        and all(word is None or _is_text(word) for word in words)
        and result.status in ("ok", "failed")
        and all(value is None or _is_amount(value) for value in seconds)
        and all(value is None or (type(value) is int and 0 <= value < 2**63) for value in counts)
        and isinstance(result.fingerprint, dict | None)
        and (result.finished is None or _is_time(result.finished))
        and all(_is_amount(cue.start) and _is_amount(cue.end) and _is_text(cue.text) for cue in result.cues or ())
    )


def _is_text(value: object) -> bool:
    """JSON can name halves of characters, which can't be written again."""
    if not isinstance(value, str):
        return False
    with suppress(UnicodeEncodeError):
        value.encode()
        return True
    return False


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < MOST  # type: ignore[operator]


def _is_time(value: str) -> bool:
    with suppress(ValueError, OverflowError, OSError):
        datetime.fromisoformat(value).timestamp()
        return True
    return False


def _lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Lines that are whole, with what they say. One torn by a crash says nothing."""
    try:
        with open_regular(path) as file:
            for line in file:
                with suppress(ValueError, RecursionError):
                    values = json.loads(line)
                    if isinstance(values, dict):
                        yield line.rstrip() + b"\n", values
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"can't read {path}: {error.strerror or error}") from error


def _compact(path: Path) -> None:
    """Leave one whole line for each id, the last one; in one step, and only when there is something to drop."""
    last: dict[str, bytes] = {}
    for line, values in _lines(path):
        identity = str(values.get("id"))
        last.pop(identity, None)
        last[identity] = line
    kept = b"".join(last.values())
    if path.exists() and len(kept) != path.stat().st_size:
        write_atomic(path, kept)


class ResultLog:
    """Appends results and syncs each one. Raises OutputError when that can't be done, or would be in vain: when the
    file is no longer where the next run will look for it.

    Whoever reads the file meanwhile takes the last line of an id for its state. When a run begins and when it ends,
    lines that were torn by a crash or overtaken by later ones are dropped.
    """

    def __init__(self, folder: Path):
        self.path = folder / RESULTS_NAME
        self._file: IO[bytes] | None = None

    def __enter__(self) -> ResultLog:
        if self.path.is_symlink():
            raise OutputError(f"{self.path} is a link: a run writes nothing outside its folder")
        _compact(self.path)
        try:
            self._file = open(self.path, "ab")
        except OSError as error:
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        if kind is None:
            with suppress(OutputError):  # all is noted: a disk that is full now leaves just more lines than needed
                _compact(self.path)

    def append(self, *results: Result) -> None:
        """Results that landed together share one sync."""
        assert self._file is not None, "a result log is written inside its `with` block"
        try:
            for result in results:
                faults.point("note")
                self._file.write(json.dumps(vars(result), ensure_ascii=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            there = self._in_its_place(self._file)
        except OSError as error:
            raise OutputError(f"can't write {self.path}: {error.strerror or error}") from error
        if not there:
            raise OutputError(f"{self.path} was taken away or replaced while results were written to it")

    def _in_its_place(self, file: IO[bytes]) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self.path))
        except FileNotFoundError:
            return False
