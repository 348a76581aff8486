"""A manifest becomes jobs: every field checked, every problem told with its line, before anything heavy loads."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from typing_extensions import Required, TypedDict

from voxcli.errors import InputError, ManifestError, Problem
from voxcli.files.names import one_name, unusable_name
from voxcli.files.read import read_named, read_stream
from voxcli.inputs.presets import preset_path, read_preset
from voxcli.inputs.rows import RawRow, decode, read_rows
from voxcli.inputs.schema import LineFields
from voxcli.jobs.gc_pause import no_collection
from voxcli.jobs.job import Job
from voxcli.jobs.output_paths import DEFAULT_FORMAT, OutputFolder, extension_of, format_of
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.registry import OutputRegistry
from voxcli.jobs.settings import DEFAULTS, NAMES, PAUSE_AFTER, Settings
from voxcli.voices.store import voice_path

STDIN = "-"
MOST_BYTES = 1 << 30


Identity = Annotated[
    str,
    Field(min_length=1, max_length=200),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
]


class Row(LineFields):
    """The fields of a manifest line. Only `text` must be there; paths start from the manifest's folder."""

    id: Identity | None = None
    """a name, unique also when case is ignored; the number of the line's place if it is missing"""
    text: str
    """what is spoken; must be there. A description in brackets may come first: `(a warm, slow voice)Hello.`"""
    out: str | None = None
    """the file, inside the output folder; made from `id` if it is missing"""
    preset: str | None = None
    """a preset for this line alone; what the line says itself goes before it"""


FIELD_NAMES = tuple(Row.model_fields)


def _checker() -> Any:
    """Checks what a line says as `Row` does, and gives only that, as a dictionary: in a third of the time."""
    kinds = {name: field.rebuild_annotation() for name, field in Row.model_fields.items()}
    kinds |= {name: Required[kinds[name]] for name, field in Row.model_fields.items() if field.is_required()}
    said = cast(Any, TypedDict("said", kinds, total=False))  # type: ignore[operator]
    said.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(said).validator


CHECKER = _checker()


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


def read_manifest(
    source: str, out: Path, common: Common = Common(), inputs: ProtectedInputs | None = None
) -> list[Job]:
    """The jobs of a manifest file, or of stdin (`-`), that write into the folder `out`.

    inputs: what else the command reads; gets the manifest and all that its lines name.

    Raises InputError when it can't be read, ManifestError with all its problems when it can't be used.
    """
    inputs = ProtectedInputs() if inputs is None else inputs
    name, folder, data = _load(source, inputs)
    builder = _Builder(folder, OutputFolder(out), common, inputs)
    with no_collection():
        for row in read_rows(name, decode(data, name)):
            builder.add(row)
        builder.finish()
    if not builder.jobs and not builder.problems:
        builder.problems.append(Problem(0, "no lines to speak"))
    if builder.problems:
        raise ManifestError(name, builder.problems)
    return builder.jobs


def _load(source: str, inputs: ProtectedInputs) -> tuple[str, Path, bytes]:
    path = Path(source)
    try:
        if source == STDIN:
            inputs.add_stream(sys.stdin, "the manifest")
            return "stdin", Path(), read_stream(sys.stdin.buffer, MOST_BYTES)
        inputs.add(path, "the manifest")
        return source, path.parent, read_named(path, MOST_BYTES)
    except OSError as error:
        raise InputError(f"can't read the manifest {source}: {error.strerror or error}") from error


class _Builder:
    def __init__(self, folder: Path, outputs: OutputFolder, common: Common, inputs: ProtectedInputs):
        self.folder = folder
        self.outputs = outputs
        self.common = common
        self.inputs = inputs
        self._alone = replace(common, ref=None, prompt_audio=None, prompt_text=None)
        self.jobs: list[Job] = []
        self.problems: list[Problem] = []
        self._rows = 0
        self._ids: dict[str, Job] = {}
        self._registry = OutputRegistry[Job | str]()
        for path in outputs.run_files:
            self._registry.claim(path, f"{path.name} of the output folder")
        self._path = lru_cache(maxsize=1024)(self._resolve)
        self._voice = lru_cache(maxsize=1024)(self._find_voice)
        self._preset = lru_cache(maxsize=64)(self._load_preset)

    def add(self, raw: RawRow | Problem) -> None:
        self._rows += 1
        if isinstance(raw, Problem):
            self.problems.append(raw)
            return
        try:
            row = CHECKER.validate_python(raw.fields, strict=raw.typed)
        except ValidationError as error:
            self.problems.extend(Problem(raw.line, message) for message in messages_of(error, raw.fields, Row))
            return
        try:
            job = self._job(row, raw.line)
        except InputError as error:
            self.problems.append(Problem(raw.line, str(error)))
            return
        self.jobs.append(job)
        self._claim(job, names_its_file="out" in row)

    def _claim(self, job: Job, names_its_file: bool) -> None:
        """An id and a file have one line each. A file made from an id that is taken is no second problem."""
        first = self._ids.setdefault(one_name(job.id), job)
        if first is not job:
            self._refuse(job, f"is already that of line {first.line}", f"id {job.id!r}")
            if not names_its_file:
                return
        taken = self._registry.claim(job.out, job)
        if taken is not None:
            self._refuse(job, f"is already that of {_named(taken)}")

    def finish(self) -> None:
        """What shows only when all lines are there."""
        for job in self.jobs:
            self.inputs.add_voices(job)
        for clash in self._registry.overwritten(self.inputs):
            self._refuse(clash.owner, f"is {clash.input}")
        for way in self._registry.in_the_way():
            self._refuse(way.owner, f"is in the folder {way.folder!r}, a file of {_named(way.other)}")
        self.problems.sort(key=lambda problem: problem.line)

    def _refuse(self, owner: Job | str, why: str, what: str = "") -> None:
        line, name = (owner.line, f"output {owner.out.name!r}") if isinstance(owner, Job) else (0, owner)
        self.problems.append(Problem(line, f"{what or name} {why}"))

    def _job(self, row: Mapping[str, Any], line: int) -> Job:
        said, common = row.get, self.common
        identity = said("id") or f"{self._rows:05d}"
        values = {name: row[name] for name in row.keys() & NAMES}
        if "preset" in row:
            values = self._preset(row["preset"]) | values
        settings = common.settings.updated(values)
        pause_after = said("pause_after", common.pause_after)
        # a line's own recordings leave the command's named voice aside, its own named voice the command's recordings
        voice = None if "ref" in row or "prompt_audio" in row else common.voice
        if said("voice"):
            voice, common = self._voice(row["voice"]), self._alone
        # a line that goes on from a recording, or speaks like one, leaves the command's description aside
        control = None if "prompt_audio" in row or "prompt_text" in row else common.control
        out = self.outputs.path_for(said("out"), identity, settings.format)
        return Job(
            id=identity,
            text=row["text"],
            out=out,
            format=self._format(row, out, settings.format),
            ref=self._path(row["ref"], "ref") if said("ref") else common.ref,
            prompt_audio=self._path(row["prompt_audio"], "prompt_audio")
            if said("prompt_audio")
            else common.prompt_audio,
            prompt_text=said("prompt_text") or common.prompt_text,
            control=said("control") or control,
            voice=voice,
            settings=settings,
            pause_after=PAUSE_AFTER if pause_after is None else pause_after,
            line=line,
        )

    def _format(self, row: Mapping[str, Any], out: Path, named: str | None) -> str:
        if "out" not in row:
            return named or DEFAULT_FORMAT
        # what the line says must fit its file; what was said for all lines holds where it does
        fits = named is not None and extension_of(named) == out.suffix.lower()
        return format_of(out, row.get("format") or (named if fits else None))

    def _resolve(self, name: str, field: str) -> Path:
        path = self.folder / name
        if "\\" in name and not os.path.exists(path):
            path = self.folder / name.replace("\\", "/")
        return _usable(path, name, field)

    def _find_voice(self, named: str) -> Path:
        return _usable(voice_path(named, self.folder), named, "voice")

    def _load_preset(self, named: str) -> dict[str, Any]:
        path = preset_path(str(self.folder / named) if named.endswith((".yaml", ".yml")) else named)
        self.inputs.add(path, "the preset")
        preset = read_preset(str(path))
        engine = preset.engine.model_dump(exclude_none=True)
        if engine:
            raise InputError(f"preset {named!r} sets {', '.join(engine)} for a whole run: name it with --preset")
        return preset.settings.model_dump(exclude_none=True)


def _usable(path: Path, name: str, field: str) -> Path:
    """Raises InputError when no file of this system can have this path."""
    if why := unusable_name(path):
        shown = repr(name) if len(name) <= 40 else f"{name[:40]!r}..."
        raise InputError(f"{field} {shown} is no name that a file can have: {why}")
    return path


def _named(owner: Job | str) -> str:
    return f"line {owner.line}" if isinstance(owner, Job) else "the run itself"


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
