"""A manifest becomes jobs: every field checked, every problem told with its line, before anything heavy loads."""

from __future__ import annotations

import difflib
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from voxcli.errors import InputError, ManifestError, Problem
from voxcli.run.fields import LineFields
from voxcli.run.garbage import no_collection
from voxcli.run.job import Job
from voxcli.run.outputs import DEFAULT_FORMAT, OutputFolder, Recordings, extension_of, format_of
from voxcli.run.presets import read_preset
from voxcli.run.rows import RawRow, decode, read_rows
from voxcli.run.settings import DEFAULTS, NAMES, PAUSE_AFTER, Settings
from voxcli.run.voicefile import voice_path

STDIN = "-"


Identity = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class Row(LineFields):
    """The fields of a manifest line. Only `text` must be there; paths start from the manifest's folder."""

    id: Annotated[Identity, Field(min_length=1, max_length=200)] | None = None
    """a name, unique also when case is ignored; the number of the line's place if it is missing"""
    text: str
    """what is spoken; must be there. A description in brackets may come first: `(a warm, slow voice)Hello.`"""
    out: str | None = None
    """the file, inside the output folder; made from `id` if it is missing"""
    preset: str | None = None
    """a preset for this line alone; what the line says itself goes before it"""


FIELD_NAMES = tuple(Row.model_fields)


@dataclass(frozen=True)
class Common:
    """What every line takes when it says nothing itself: the defaults file, the preset, the flags of the command."""

    settings: Settings = DEFAULTS
    ref: Path | None = None
    prompt_audio: Path | None = None
    prompt_text: str | None = None
    control: str | None = None
    voice: Path | None = None
    pause_after: float | None = None


def read_manifest(source: str, out: Path, common: Common = Common()) -> list[Job]:
    """The jobs of a manifest file, or of stdin (`-`), that write into the folder `out`.

    Raises InputError when it can't be read, ManifestError with all its problems when it can't be used.
    """
    name, folder, data = _load(source)
    builder = _Builder(folder, OutputFolder(out), common)
    with no_collection():
        for row in read_rows(name, decode(data, name)):
            builder.add(row)
        builder.finish()
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
        self._voice = lru_cache(maxsize=1024)(lambda named: voice_path(named, folder))
        self._preset = lru_cache(maxsize=64)(self._load_preset)

    def add(self, raw: RawRow | Problem) -> None:
        self._rows += 1
        if isinstance(raw, Problem):
            self.problems.append(raw)
            return
        try:
            row = Row.model_validate(raw.fields, strict=raw.typed)
        except ValidationError as error:
            self.problems.extend(Problem(raw.line, message) for message in messages_of(error, raw.fields, Row))
            return
        try:
            job = self._job(row, raw.line)
        except InputError as error:
            self.problems.append(Problem(raw.line, str(error)))
            return
        self._claim(self._lines_of_ids, job.id, raw.line, "id", job.id)
        self._claim(self._lines_of_outs, str(job.out), raw.line, "output", job.out.name)
        self.jobs.append(job)

    def finish(self) -> None:
        """What shows only when all lines are there."""
        recordings = Recordings(path for job in self.jobs for path in job.voices)
        for job in self.jobs:
            if (recording := recordings.at(job.out)) is not None:
                self.problems.append(Problem(job.line, f"output {job.out.name!r} is the recording {str(recording)!r}"))
        self._refuse_files_as_folders()
        self.problems.sort(key=lambda problem: problem.line)

    def _refuse_files_as_folders(self) -> None:
        """The file of one line can't be the folder of another's."""
        folders: dict[Path, Job] = {}
        for job in self.jobs:
            folders.setdefault(job.out.parent, job)
        for folder, job in folders.items():
            for above in (folder, *folder.parents):
                if not above.is_relative_to(self.outputs.folder) or above == self.outputs.folder:
                    break
                taken = self._lines_of_outs.get(_one_name(str(above)))
                if taken is not None:
                    self.problems.append(
                        Problem(
                            job.line, f"output {job.out.name!r} is in the folder {above.name!r}, a file of line {taken}"
                        )
                    )

    def _job(self, row: Row, line: int) -> Job:
        identity = row.id or f"{self._rows:05d}"
        said = {name: getattr(row, name) for name in row.model_fields_set & NAMES}
        settings = self.common.settings.updated(self._preset(row.preset) | said if row.preset else said)
        pause_after = row.pause_after if row.pause_after is not None else self.common.pause_after
        out = self.outputs.path_for(row.out, identity, settings.format)
        # a line's own recordings leave the command's named voice aside, its own named voice the command's recordings
        recorded = row.ref is not None or row.prompt_audio is not None
        common = replace(self.common, ref=None, prompt_audio=None, prompt_text=None) if row.voice else self.common
        continues = row.prompt_audio is not None or row.prompt_text is not None
        return Job(
            id=identity,
            text=row.text,
            out=out,
            format=self._format(row, out, settings.format),
            ref=self._path(row.ref) if row.ref else common.ref,
            prompt_audio=self._path(row.prompt_audio) if row.prompt_audio else common.prompt_audio,
            prompt_text=row.prompt_text or common.prompt_text,
            # a line that goes on from a recording, or speaks like one, leaves the command's description aside
            control=row.control or (None if continues else self.common.control),
            voice=self._voice(row.voice) if row.voice else None if recorded else common.voice,
            settings=settings,
            pause_after=PAUSE_AFTER if pause_after is None else pause_after,
            line=line,
        )

    def _format(self, row: Row, out: Path, named: str | None) -> str:
        if row.out is None:
            return named or DEFAULT_FORMAT
        # what the line says must fit its file; what was said for all lines holds where it does
        fits = named is not None and extension_of(named) == out.suffix.lower()
        return format_of(out, row.format or (named if fits else None))

    def _resolve(self, name: str) -> Path:
        path = self.folder / name
        if "\\" in name and not path.exists():
            return self.folder / name.replace("\\", "/")
        return path

    def _load_preset(self, named: str) -> dict[str, Any]:
        preset = read_preset(str(self.folder / named) if named.endswith((".yaml", ".yml")) else named)
        engine = preset.engine.model_dump(exclude_none=True)
        if engine:
            raise InputError(f"preset {named!r} sets {', '.join(engine)} for a whole run: name it with --preset")
        return preset.settings.model_dump(exclude_none=True)

    def _claim(self, taken: dict[str, int], name: str, line: int, what: str, shown: str) -> None:
        one_name = _one_name(name)
        if one_name in taken:
            self.problems.append(Problem(line, f"{what} {shown!r} is already that of line {taken[one_name]}"))
        taken.setdefault(one_name, line)


def _one_name(name: str) -> str:
    """Names that differ only in case, or in how an accent is coded, are one name on some systems."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def messages_of(error: ValidationError, given: Mapping[str, Any], model: type[LineFields]) -> list[str]:
    """What is wrong with the fields that were given, one phrase each."""
    known = tuple(model.model_fields)
    messages = []
    for problem in error.errors(include_url=False, include_context=False):
        name = str(problem["loc"][0]) if problem["loc"] else "line"
        if problem["type"] == "extra_forbidden":
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            messages.append(f"unknown field {name!r}: {hint}")
        elif problem["type"] == "missing":
            messages.append(f"field {name!r} is missing")
        else:
            value = repr(given.get(name))
            shown = value if len(value) <= 40 else value[:37] + "..."
            messages.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}, not {shown}")
    return messages
