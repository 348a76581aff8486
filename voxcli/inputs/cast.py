"""`--cast FILE`: a voice, a manner and settings for each character, by the column `character` of a manifest.

Guard: {ref: guard.wav, control: gruff}        # paths are relative to the folder of this file
Anna: {voice: anna, preset: quality}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from voxcli.audio.formats import DEFAULT_FORMAT
from voxcli.errors import InputError, quoted, shortened
from voxcli.files.located import located
from voxcli.inputs.problems import faults_of
from voxcli.inputs.schema import LineFields
from voxcli.inputs.yamlfile import read_yaml
from voxcli.jobs.job import Job
from voxcli.jobs.settings import DEFAULTS, NAMES
from voxcli.terminal import nearest
from voxcli.voices.store import SUFFIX, voice_path

COLUMN = "character"
PATHS = ("ref", "prompt_audio", "lexicon")
VOICES = ("voice", "ref", "prompt_audio", "prompt_text")


class CastFields(LineFields):
    """The fields of a character: those of a line, except the ones that name the line itself."""

    preset: str | None = None
    """a preset for the lines of the character"""


@dataclass(frozen=True)
class Cast:
    """The fields of each character, with absolute paths. path: of the file."""

    path: Path
    characters: Mapping[str, Mapping[str, Any]]

    def fields(self, row: Mapping[str, Any], character: str) -> Mapping[str, Any]:
        """Return the fields of a line: its own override those of its character.

        A line with a voice or a preset of its own has none of its character's; one that continues a recording ignores
        the description. Raises KeyError for an unknown character.
        """
        common = dict(self.characters[character])
        if "preset" in row:
            common = {name: value for name, value in common.items() if name not in NAMES}
        if any(name in row for name in VOICES):
            common = {name: value for name, value in common.items() if name not in VOICES}
        if "prompt_audio" in row or "prompt_text" in row:
            common.pop("control", None)
        return {**common, **row}

    def unknown(self, character: str, lines: int) -> str:
        """Return the message for a character that is not in the cast. lines: number of its lines."""
        guess = nearest(character, self.characters)
        known = f"did you mean {quoted(guess)}?" if guess else f"there are {', '.join(map(quoted, self.characters))}"
        more = f" (in {lines} lines)" if lines > 1 else ""
        return f"no character {quoted(character)} in {self.path}{more}; {known}"

    @property
    def voices(self) -> list[Path]:
        """The files of all voices."""
        found = [Path(fields[name]) for fields in self.characters.values() for name in PATHS[:2] if name in fields]
        return found + [voice_path(fields["voice"]) for fields in self.characters.values() if "voice" in fields]


def read_cast(path: Path) -> Cast:
    """Read a cast. Raises InputError that names the file, the character and every invalid field."""
    values = read_yaml(path, "the cast")
    if not isinstance(values, dict) or not values:
        raise InputError(f"the cast {path} is no list of characters, such as: Guard: {{ref: guard.wav}}")
    return Cast(
        path, {str(name): _fields(path, str(name), {} if fields is None else fields) for name, fields in values.items()}
    )


def _fields(path: Path, character: str, values: object) -> Mapping[str, Any]:
    name = f"the cast {path}: {quoted(character)}"
    if not isinstance(values, dict):
        raise InputError(f"{name} has no fields: write {character}: {{{_meant(values)}}}")
    try:
        fields = CastFields.model_validate(values, strict=True).model_dump(exclude_none=True)
        settings = DEFAULTS.updated({name: value for name, value in fields.items() if name in NAMES})
        voices: dict[str, Any] = {each: Path(fields[each]) for each in PATHS[:2] if each in fields}
        if "voice" in fields:
            voices["voice"] = voice_path(fields["voice"])
        words = {each: fields[each] for each in ("prompt_text", "control", "pause_after", "takes") if each in fields}
        Job(character, "", Path(), settings.format or DEFAULT_FORMAT, settings=settings, **voices, **words)
    except ValidationError as error:
        wrong = faults_of(error, values, CastFields)
        raise InputError(f"{name}: {'; '.join(fault.message for fault in wrong)}") from error
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    for each in PATHS:
        if each in fields:
            fields[each] = str(located(fields[each], path.parent).absolute())
    for each, suffixes in (("voice", (SUFFIX,)), ("preset", (".yaml", ".yml"))):
        if fields.get(each, "").endswith(suffixes):
            fields[each] = str(located(fields[each], path.parent).absolute())
    return fields


def _meant(value: object) -> str:
    """Return the field that a value without a name was probably meant for: a recording, or a named voice."""
    if not isinstance(value, str) or not value.strip():
        return "ref: guard.wav"
    voice = value.endswith(SUFFIX) or not Path(value).suffix
    return f"{'voice' if voice else 'ref'}: {shortened(value)}"
