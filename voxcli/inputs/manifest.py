"""Read a manifest into jobs. Every field is checked and every problem reported with its line, before a model loads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import Required, TypedDict

from voxcli.audio.formats import DEFAULT_FORMAT, bitrate_formats, has_bitrate
from voxcli.errors import InputError, ManifestError, Problem, quoted, shortened
from voxcli.files.located import located
from voxcli.files.names import one_name, unusable_name
from voxcli.inputs.cast import COLUMN, Cast
from voxcli.inputs.columns import Columns, likely_text
from voxcli.inputs.document import AS_IT_IS, STDIN, InputOptions, open_document
from voxcli.inputs.lexicon import read_lexicon
from voxcli.inputs.naming import Names
from voxcli.inputs.presets import preset_path, read_preset
from voxcli.inputs.problems import Problems, faults_of
from voxcli.inputs.rows import InputRow, row_of
from voxcli.inputs.schema import FIELD_NAMES, Row
from voxcli.inputs.values import with_numbers
from voxcli.jobs.gc_pause import gc_paused
from voxcli.jobs.job import MAX_TAKES, Job
from voxcli.jobs.output_paths import OutputFolder, extension_of, format_of
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.registry import OutputRegistry
from voxcli.jobs.settings import DEFAULTS, NAMES, PAUSE_AFTER, Settings
from voxcli.jobs.tags import Tags
from voxcli.jobs.takes import take_path
from voxcli.jobs.template import Template, field_key
from voxcli.terminal import counted
from voxcli.text.lexicon import Lexicon
from voxcli.voices.store import voice_path

FIELDS = frozenset(FIELD_NAMES)
MAX_BYTES = 1 << 30
NOWHERE = Path(os.devnull) / "rows"  # no file can be there


def _checker() -> Any:
    """Return a validator that checks fields as `Row` does, but returns a dictionary: in a third of the time."""
    kinds = {name: field.rebuild_annotation() for name, field in Row.model_fields.items()}
    kinds |= {name: Required[kinds[name]] for name, field in Row.model_fields.items() if field.is_required()}
    given = cast(Any, TypedDict("given", kinds, total=False))  # type: ignore[operator]
    given.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(given).validator


CHECKER = _checker()


@dataclass(frozen=True)
class LineDefaults:
    """Values for lines that don't set them: from the options of the command, the preset and the defaults file."""

    settings: Settings = DEFAULTS
    ref: Path | None = None
    prompt_audio: Path | None = None
    prompt_text: str | None = None
    control: str | None = None
    voice: Path | None = None
    lexicon: Lexicon | None = None
    pause_after: float | None = None
    takes: int | None = None
    cast: Cast | None = None
    name_template: Template | None = None
    tags: Tags | None = None


@dataclass(frozen=True)
class Manifest:
    """jobs: in the order of the file.  description: the detected format.  notes: for people."""

    jobs: list[Job]
    name: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Describe for people what it is, and what of it is not spoken."""
        return [f"{self.name}: {self.description}", *self.notes]


def read_manifest(
    source: str,
    out: Path,
    defaults: LineDefaults = LineDefaults(),
    inputs: ProtectedInputs | None = None,
    options: InputOptions = AS_IT_IS,
) -> Manifest:
    """Read the jobs of a manifest file, or of stdin (`-`), that write into the folder `out`.

    inputs: the other inputs of the command; the manifest and the files that its lines name are added.

    Raises InputError if it can't be read, ManifestError with all its problems if it can't be used.
    """
    inputs = ProtectedInputs() if inputs is None else inputs
    inputs.add_stream(sys.stdin, "the manifest") if source == STDIN else inputs.add(Path(source), "the manifest")
    if defaults.lexicon is not None and defaults.lexicon.source is not None:
        inputs.add(defaults.lexicon.source, "the lexicon")
    known = (*((COLUMN,) if defaults.cast is not None else ()), *Names(defaults.name_template, defaults.tags).columns)
    document = open_document(source, MAX_BYTES, options, "the manifest ", known)
    builder = _Builder(document.folder, OutputFolder(out), defaults, inputs, document.columns)
    with gc_paused():
        for row in document.rows():
            builder.add(row)
        builder.finish()
    notes = document.notes()
    if not builder.jobs and not builder.problems:
        builder.problems.add(0, f"no lines to speak ({notes[0]})" if notes else "no lines to speak")
    builder.check(document.name)
    return Manifest(builder.jobs, document.name, document.description(len(builder.jobs)), tuple(notes))


def jobs_of_rows(
    rows: Iterable[object], name: str, defaults: LineDefaults, inputs: ProtectedInputs, *, strict: bool
) -> Manifest:
    """Return the jobs of a program's rows: mappings like lines of a manifest in the current folder, or plain texts.

    Their output paths are relative, and nothing is looked up there: who asks for the files chooses a folder for them.

    name:   of the rows, for messages.
    strict: unknown fields are problems.

    Raises ManifestError with all problems. A row's line number is its position, from 1.
    """
    columns = Columns(strict=strict)
    builder = _Builder(Path(), OutputFolder(NOWHERE), defaults, inputs, columns)
    builder.of_a_file = False
    with gc_paused():
        for number, row in enumerate(rows, 1):
            builder.add(row_of(number, {"text": row} if isinstance(row, str) else row))
        builder.finish()
    builder.check(name)
    jobs = [replace(job, out=job.out.relative_to(NOWHERE)) for job in builder.jobs]
    return Manifest(jobs, name, counted(len(jobs), "row"), tuple(columns.notes()))


class _Builder:
    def __init__(
        self, folder: Path, outputs: OutputFolder, defaults: LineDefaults, inputs: ProtectedInputs, columns: Columns
    ):
        self.folder = folder
        self.outputs = outputs
        self.defaults = defaults
        self.columns = columns
        self.inputs = inputs
        self.of_a_file = True  # whose columns --map can name; a program chooses formats when it saves
        self._alone = replace(defaults, ref=None, prompt_audio=None, prompt_text=None)
        self.jobs: list[Job] = []
        self.problems = Problems()
        self._rows = 0
        self._characters = False  # a line names one
        self._strangers: dict[str, list[int]] = {}  # lines of unknown characters
        self._named = Names(defaults.name_template, defaults.tags)
        self._ids: dict[str, Job] = {}
        self._registry = OutputRegistry[Job | str]()
        self._folder = str(outputs.folder)
        for path in outputs.run_files:
            self._registry.claim(path, f"{path.name} of the output folder")
        self._path = lru_cache(maxsize=1024)(self._resolve)
        self._voice = lru_cache(maxsize=1024)(self._find_voice)
        self._lexicon = lru_cache(maxsize=64)(self._read_lexicon)
        self._preset = lru_cache(maxsize=64)(self._load_preset)

    def add(self, row: InputRow | Problem) -> None:
        self._rows += 1
        if isinstance(row, Problem):
            self.problems.add(row.line, row.message, row.message[:20])
            return
        try:
            if row.typed and (self.columns.mapping or not row.fields.keys() <= FIELDS):
                row = self._split(row)
            row = self._of_character(row._replace(fields=self._checked(row)))
            job = self._job(row)
        except ValidationError as error:
            for fault in faults_of(error, row.fields, Row):
                self.problems.add(row.line, fault.message, fault.kind)
            if self.of_a_file and "text" not in row.fields and (likely := likely_text(row.extra)):
                self.problems.add(
                    row.line, f"is {quoted(likely)} the text? Then --map text={shortened(likely)}", likely
                )
            return
        except InputError as error:
            self.problems.add(row.line, str(error))
            return
        self.jobs.append(job)
        self._claim(job, names_its_file="out" in row.fields or self._named.template is not None)

    def _claim(self, job: Job, names_its_file: bool) -> None:
        """Refuse an id or a file that another line has. A file named after a refused id is no second problem."""
        first = self._ids.setdefault(one_name(job.id), job)
        if first is not job:
            self._refuse(job, f"is already that of line {first.line}", f"id {quoted(job.id)}")
            if not names_its_file:
                return
        for take in range(1, job.takes + 1):
            path = take_path(job.out, take)
            if names_its_file:
                taken = self._registry.claim(path, job)
            else:  # pathlib takes as long to make a string of a path as to make the path
                taken = self._registry.claim_in(self._folder, path.name, job)
            if taken is not None:
                self._refuse(job, f"is already that of {_named(taken)}", f"output {quoted(path.name)}")

    def _split(self, row: InputRow) -> InputRow:
        """Separate the fields of a JSON object, by their own names, from all else. Tables do this for their header."""
        fields, extra = self.columns.split(row.fields)
        if self.columns.strict:
            known = {name: value for name, value in extra.items() if self.columns.is_known(name)}
            fields |= {name: value for name, value in extra.items() if name not in known}
            extra = known
        return row._replace(fields=fields, extra=extra)

    def _checked(self, row: InputRow) -> Mapping[str, Any]:
        """Validate fields; None is no value, quoted numbers and whole floats are numbers. Raises ValidationError."""
        fields, typed = row.fields, row.typed
        if typed and None in fields.values():  # but a text that is null is there, and empty
            fields = {name: value for name, value in fields.items() if value is not None or name == "text"}
            if fields.get("text", "") is None:
                fields["text"] = ""
        checked: Mapping[str, Any]
        try:
            checked = CHECKER.validate_python(fields, strict=typed)
        except ValidationError:
            converted = with_numbers(fields)
            if converted == fields and all(type(converted[name]) is type(fields[name]) for name in fields):
                raise
            checked = CHECKER.validate_python(converted, strict=typed)
        return checked

    def finish(self) -> None:
        """Find the problems that depend on several lines."""
        if self.defaults.cast is not None:
            for character, lines in self._strangers.items():
                self.problems.add(lines[0], self.defaults.cast.unknown(character, len(lines)))
            if self.jobs and not self._characters:
                self.problems.add(0, f"no line has a value in the column {COLUMN!r}, which --cast needs")
        for unknown in self._named.unknown() if self.jobs else ():
            self.problems.add(0, unknown)
        for job in self.jobs:
            self.inputs.add_voices(job)
        for owner, found in self._registry.overwritten(self.inputs):
            self._refuse(owner, f"is {found}")
        for owner, folder, other in self._registry.in_the_way():
            self._refuse(owner, f"is in the folder {quoted(folder)}, a file of {_named(other)}")
        for found in self.inputs.temporary():
            self._refuse(str(found), "has a name of temporary files, which the run removes: rename it")

    def _of_character(self, row: InputRow) -> InputRow:
        """Return a row with its character and the fields of that, if there is a cast and the row names one."""
        cast = self.defaults.cast
        if cast is None:
            return row
        character = next((value for name, value in row.extra.items() if field_key(name) == COLUMN), None)
        if character in (None, ""):
            return row
        self._characters = True
        try:
            return row._replace(fields=cast.fields(row.fields, str(character)), character=str(character))
        except KeyError:
            self._strangers.setdefault(str(character), []).append(row.line)
            return row

    def check(self, name: str) -> None:
        """Raises ManifestError when there are problems."""
        if self.problems:
            raise ManifestError(name, self.problems.listed())

    def _refuse(self, owner: Job | str, why: str, what: str = "") -> None:
        line, name = (owner.line, f"output {quoted(owner.out.name)}") if isinstance(owner, Job) else (0, owner)
        self.problems.add(line, f"{what or name} {why}")

    def _job(self, row: InputRow) -> Job:
        fields, common = row.fields, self.defaults
        get = fields.get
        identity = get("id") or f"{self._rows:05d}"
        values = {name: fields[name] for name in fields.keys() & NAMES}
        if "preset" in fields:
            values = self._preset(fields["preset"]) | values
        settings = common.settings.updated(values)
        pause_after = get("pause_after", common.pause_after)
        if "\0" in identity:
            raise InputError(f"id {quoted(identity)} contains a NUL character")
        # a line's recordings override the command's named voice, and its named voice the command's recordings
        voice = None if "ref" in fields or "prompt_audio" in fields else common.voice
        if get("voice"):
            voice, common = self._voice(fields["voice"]), self._alone
        # a line that continues a recording ignores the description of the command
        control = None if "prompt_audio" in fields or "prompt_text" in fields else common.control
        values = self._named.values(identity, row)
        named, around_id = (
            self._named.path(values, extension_of(settings.format)) if get("out") is None else (None, None)
        )
        out = self.outputs.path_for(named if get("out") is None else get("out"), identity, settings.format)
        takes = get("takes", 1 if common.takes is None else common.takes)
        for take in range(2, min(takes, MAX_TAKES) + 1):
            self.outputs.check(take_path(out, take))
        format = self._format(fields, out, settings.format)
        if self.of_a_file and get("bitrate") is not None and not has_bitrate(format):
            raise InputError(f"bitrate needs a format with a bitrate: {bitrate_formats()}, not {format}")
        job = Job(
            id=identity,
            text=fields["text"],
            out=out,
            format=format,
            ref=self._path(fields["ref"], "ref") if get("ref") else common.ref,
            prompt_audio=self._path(fields["prompt_audio"], "prompt_audio")
            if get("prompt_audio")
            else common.prompt_audio,
            prompt_text=get("prompt_text") or common.prompt_text,
            control=get("control") or control,
            voice=voice,
            settings=settings,
            lexicon=self._lexicon(fields["lexicon"]) if get("lexicon") else common.lexicon,
            pause_after=PAUSE_AFTER if pause_after is None else pause_after,
            takes=takes,
            line=row.line,
            character=row.character,
            numbered=get("id") is None,
            around_id=around_id,
            extra=row.extra,
        )
        tags = self._named.tags
        return job if tags is None else replace(job, tags=tags.of(job, values))

    def _format(self, fields: Mapping[str, Any], out: Path, named: str | None) -> str:
        if "out" not in fields:
            return named or DEFAULT_FORMAT
        # a format of the line must fit its file; one for all lines applies where it fits
        fits = named is not None and extension_of(named) == out.suffix.lower()
        return format_of(out, fields.get("format") or (named if fits else None))

    def _resolve(self, name: str, field: str) -> Path:
        path = located(name, self.folder)
        if "\\" in name and not os.path.exists(path):
            path = located(name.replace("\\", "/"), self.folder)
        return _usable(path, name, field)

    def _find_voice(self, named: str) -> Path:
        return _usable(voice_path(named, self.folder), named, "voice")

    def _read_lexicon(self, name: str) -> Lexicon:
        path = self._resolve(name, "lexicon")
        self.inputs.add(path, "the lexicon")
        return read_lexicon(path)

    def _load_preset(self, named: str) -> dict[str, Any]:
        path = preset_path(str(located(named, self.folder)) if named.endswith((".yaml", ".yml")) else named)
        self.inputs.add(path, "the preset")
        preset = read_preset(str(path))
        engine = preset.engine.model_dump(exclude_none=True)
        if engine:
            raise InputError(f"preset {quoted(named)} sets {', '.join(engine)} for a whole run: name it with --preset")
        return preset.settings.model_dump(exclude_none=True)


def _usable(path: Path, name: str, field: str) -> Path:
    """Raises InputError if no file of this system can have this path."""
    if why := unusable_name(path):
        raise InputError(f"{field} {quoted(name)} is no name that a file can have: {why}")
    return path


def _named(owner: Job | str) -> str:
    return f"line {owner.line}" if isinstance(owner, Job) else "the run itself"
