"""Read which files hold which texts: the manifest of files that another program made."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxcli.audio.formats import EXTENSIONS
from voxcli.errors import InputError, ManifestError, Problem, quoted
from voxcli.files.located import located
from voxcli.inputs.columns import Columns
from voxcli.inputs.document import InputOptions, open_document
from voxcli.inputs.manifest import MAX_BYTES
from voxcli.inputs.rows import InputRow
from voxcli.voices.store import voice_path

__all__ = ["RecordedLine", "read_recorded"]

# Names of the column of files, as data sets and other programs write them.
FILES = ("out", "file", "path", "audio", "audio_filepath", "audio_path", "audio_file", "file_name", "filename", "wav")


@dataclass(frozen=True)
class RecordedLine:
    """A file, its text, and the voice that it should have, a recording or a stored voice, if the manifest names one."""

    id: str
    path: Path
    text: str
    voice: Path | None = None


def read_recorded(source: str, folder: Path, options: InputOptions) -> list[RecordedLine]:
    """Read a manifest or a table with a text and a file, or an id, in each row.

    folder: of the files. A file without a name has its id and an audio extension; one that is not in the folder is
            looked for in the manifest's.

    Raises InputError if it can't be read, ManifestError with all rows that have no text or no file.
    """
    document = open_document(source, MAX_BYTES, options, "the manifest ", known=FILES)
    lines: list[RecordedLine] = []
    problems: list[Problem] = []
    for number, row in enumerate(document.rows(), 1):
        try:
            if isinstance(row, Problem):
                problems.append(row)
            else:
                lines.append(_line(row, number, document.columns, folder, document.folder))
        except InputError as error:
            problems.append(Problem(row.line, str(error)))
    if not lines and not problems:
        problems.append(Problem(0, "no lines"))
    if problems:
        raise ManifestError(document.name, problems)
    return lines


def _line(row: InputRow, number: int, columns: Columns, folder: Path, beside: Path) -> RecordedLine:
    fields, extra = columns.split({**row.extra, **row.fields})
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError("no text")
    named = _named(fields | {key.casefold(): value for key, value in extra.items()})
    identity = str(fields.get("id") or (Path(named).stem if named else number))
    candidates = [named] if named else [f"{identity}{extension}" for extension in EXTENSIONS]
    path = next(_existing(candidates, folder, beside), None)
    if path is None:
        raise InputError(f"there is no file {quoted(named or identity)} in {folder}")
    return RecordedLine(identity, path, text, _voice(fields.get("ref"), fields.get("voice"), beside))


def _voice(ref: Any, voice: Any, beside: Path) -> Path | None:
    """Return the voice of a row. A name that is not of a stored voice is another program's."""
    if isinstance(ref, str) and ref:
        return located(ref, beside)
    if not isinstance(voice, str) or not voice:
        return None
    with suppress(InputError):
        path = voice_path(voice, beside)
        return path if os.path.isfile(path) else None
    return None


def _named(values: Mapping[str, Any]) -> str | None:
    return next((value for name in FILES if isinstance(value := values.get(name), str) and value), None)


def _existing(names: list[str], folder: Path, beside: Path) -> Iterator[Path]:
    for name in names:
        for place in (folder, beside):
            path = located(name, place)
            if os.path.isfile(path):
                yield path
