"""`--defaults file.yaml`: values for all lines of a manifest. Lines, options and the preset override them.

ref: anna.wav        # paths are relative to this file's folder
steps: 16
pause_after: 0.8
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from voxcli.errors import InputError
from voxcli.files.located import located
from voxcli.inputs.lexicon import read_lexicon
from voxcli.inputs.manifest import LineDefaults
from voxcli.inputs.problems import faults_of
from voxcli.inputs.schema import LineFields
from voxcli.inputs.yamlfile import read_yaml
from voxcli.jobs.settings import DEFAULTS, NAMES, Settings
from voxcli.voices.store import voice_path


class DefaultFields(LineFields):
    """The fields of a line except those that identify it, and except the preset, which has an option."""


def read_defaults(path: Path) -> LineDefaults:
    """Read a defaults file. Raises InputError that names the file and every invalid field."""
    values = read_yaml(path, "the defaults file")
    return line_defaults({} if values is None else values, path.parent, f"defaults {path}")


def line_defaults(values: object, folder: Path, name: str, base: Settings = DEFAULTS) -> LineDefaults:
    """Check the fields that lines take where they say nothing themselves.

    folder: where relative paths start.
    name:   of the fields, for messages.
    base:   settings that the fields override.

    Raises InputError that names every invalid field.
    """
    if not isinstance(values, dict):
        raise InputError(f"{name}: it has no fields, such as steps: 16")
    try:
        fields = DefaultFields.model_validate(values, strict=True)
        settings = base.updated({name: getattr(fields, name) for name in fields.model_fields_set & NAMES})
    except ValidationError as error:
        wrong = "; ".join(fault.message for fault in faults_of(error, values, DefaultFields))
        raise InputError(f"{name}: {wrong}") from error
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return LineDefaults(
        settings,
        ref=located(fields.ref, folder) if fields.ref else None,
        prompt_audio=located(fields.prompt_audio, folder) if fields.prompt_audio else None,
        prompt_text=fields.prompt_text,
        control=fields.control,
        voice=voice_path(fields.voice, folder) if fields.voice else None,
        lexicon=read_lexicon(located(fields.lexicon, folder)) if fields.lexicon else None,
        pause_after=fields.pause_after,
        takes=fields.takes,
    )
