"""`--defaults file.yaml`: what the lines of a manifest take where neither they, the options nor the preset say it.

ref: anna.wav        # paths start from this file's folder
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
from voxcli.jobs.settings import DEFAULTS, NAMES
from voxcli.voices.store import voice_path


class DefaultFields(LineFields):
    """All that a line may say, but what names the line itself and the preset, which has an option."""


def read_defaults(path: Path) -> LineDefaults:
    """Raises InputError, naming the file and every field that is wrong."""
    values = read_yaml(path, "the defaults file")
    try:
        fields = DefaultFields.model_validate(values or {}, strict=True)
        settings = DEFAULTS.updated({name: getattr(fields, name) for name in fields.model_fields_set & NAMES})
    except ValidationError as error:
        wrong = "; ".join(
            fault.message for fault in faults_of(error, values if isinstance(values, dict) else {}, DefaultFields)
        )
        raise InputError(f"defaults {path}: {wrong}") from error
    except InputError as error:
        raise InputError(f"defaults {path}: {error}") from error
    return LineDefaults(
        settings,
        ref=located(fields.ref, path.parent) if fields.ref else None,
        prompt_audio=located(fields.prompt_audio, path.parent) if fields.prompt_audio else None,
        prompt_text=fields.prompt_text,
        control=fields.control,
        voice=voice_path(fields.voice, path.parent) if fields.voice else None,
        lexicon=read_lexicon(located(fields.lexicon, path.parent)) if fields.lexicon else None,
        pause_after=fields.pause_after,
    )
