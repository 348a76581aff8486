"""A manifest becomes jobs: every field checked, every problem told with its line, before anything heavy loads."""

from __future__ import annotations

import difflib
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from voxcli.errors import InputError, ManifestError, Problem
from voxcli.run.fields import SettingFields
from voxcli.run.job import Job
from voxcli.run.outputs import OutputFolder, format_of
from voxcli.run.rows import RawRow, decode, read_rows
from voxcli.run.settings import DEFAULTS, NAMES, Settings

STDIN = "-"


Identity = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class Row(SettingFields):
    """The fields of a manifest line. Only `text` must be there; paths start from the manifest's folder."""

    id: Annotated[Identity, Field(min_length=1, max_length=200)] | None = None
    text: str
    out: str | None = None
    ref: str | None = None
    prompt_audio: str | None = None
    prompt_text: str | None = None
    control: str | None = None


FIELD_NAMES = tuple(Row.model_fields)


@dataclass(frozen=True)
class Common:
    """What every line takes when it says nothing itself: the flags of the command."""

    settings: Settings = DEFAULTS
    ref: Path | None = None
    prompt_audio: Path | None = None
    prompt_text: str | None = None
    control: str | None = None


def read_manifest(source: str, out: Path, common: Common = Common()) -> list[Job]:
    """The jobs of a manifest file, or of stdin (`-`), that write into the folder `out`.

    Raises InputError when it can't be read, ManifestError with all its problems when it can't be used.
    """
    name, folder, data = _load(source)
    builder = _Builder(folder, OutputFolder(out), common)
    for row in read_rows(name, decode(data, name)):
        builder.add(row)
    if not builder.jobs and not builder.problems:
        builder.problems.append(Problem(0, "no lines to speak"))
    if builder.problems:
        raise ManifestError(name, builder.problems)
    return builder.jobs


def _load(source: str) -> tuple[str, Path, bytes]:
    if source == STDIN:
        return "stdin", Path(), sys.stdin.buffer.read()
    path = Path(source)
    try:
        return source, path.parent, path.read_bytes()
    except OSError as error:
        raise InputError(f"can't read the manifest {source}: {error.strerror or error}") from error


class _Builder:
    def __init__(self, folder: Path, outputs: OutputFolder, common: Common):
        self.folder = folder
        self.outputs = outputs
        self.common = common
        self.jobs: list[Job] = []
        self.problems: list[Problem] = []
        self._rows = 0
        self._lines_of_ids: dict[str, int] = {}
        self._lines_of_outs: dict[str, int] = {}
        self._path = lru_cache(maxsize=1024)(self._resolve)

    def add(self, raw: RawRow | Problem) -> None:
        self._rows += 1
        if isinstance(raw, Problem):
            self.problems.append(raw)
            return
        try:
            row = Row.model_validate(raw.fields, strict=raw.typed)
        except ValidationError as error:
            self.problems.extend(Problem(raw.line, message) for message in _messages(error, raw.fields))
            return
        try:
            job = self._job(row, raw.line)
        except InputError as error:
            self.problems.append(Problem(raw.line, str(error)))
            return
        self._claim(self._lines_of_ids, job.id, raw.line, f"id {job.id!r}")
        self._claim(self._lines_of_outs, str(job.out), raw.line, f"output {job.out.name!r}")
        self.jobs.append(job)

    def _job(self, row: Row, line: int) -> Job:
        identity = row.id or f"{self._rows:05d}"
        settings = self.common.settings.updated({name: getattr(row, name) for name in row.model_fields_set & NAMES})
        out = self.outputs.path_for(row.out, identity, settings.format)
        continues = row.prompt_audio is not None or row.prompt_text is not None
        return Job(
            id=identity,
            text=row.text,
            out=out,
            format=format_of(out, row.format if row.out is not None else settings.format),
            ref=self._path(row.ref) if row.ref else self.common.ref,
            prompt_audio=self._path(row.prompt_audio) if row.prompt_audio else self.common.prompt_audio,
            prompt_text=row.prompt_text or self.common.prompt_text,
            # a line that goes on from a recording, or speaks like one, leaves the command's description aside
            control=row.control or (None if continues else self.common.control),
            settings=settings,
            line=line,
        )

    def _resolve(self, name: str) -> Path:
        path = self.folder / name
        if "\\" in name and not path.exists():
            return self.folder / name.replace("\\", "/")
        return path

    def _claim(self, taken: dict[str, int], name: str, line: int, what: str) -> None:
        """Names that differ only in case, or in how an accent is coded, are one name on some systems."""
        first = taken.setdefault(unicodedata.normalize("NFC", name).casefold(), line)
        if first != line:
            self.problems.append(Problem(line, f"{what} is already that of line {first}"))


def _messages(error: ValidationError, fields: Mapping[str, Any]) -> list[str]:
    messages = []
    for problem in error.errors(include_url=False, include_context=False):
        name = str(problem["loc"][0]) if problem["loc"] else "line"
        if problem["type"] == "extra_forbidden":
            close = difflib.get_close_matches(name, FIELD_NAMES, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(FIELD_NAMES)}"
            messages.append(f"unknown field {name!r}: {hint}")
        elif problem["type"] == "missing":
            messages.append(f"field {name!r} is missing")
        else:
            value = repr(fields.get(name))
            shown = value if len(value) <= 40 else value[:37] + "..."
            messages.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}, not {shown}")
    return messages
