"""Presets: named settings in small YAML files, from the package or the user's own.

description: half the solver steps, about half the work
settings:      # of a line: see run/settings.py
  steps: 5
engine:        # of the machine: see ModelOptions in run/load.py
  max_batch: 4
"""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voxcli.errors import InputError, quoted, shortened
from voxcli.files.located import located
from voxcli.files.read import files_with
from voxcli.files.user_dirs import config_folder
from voxcli.inputs.schema import SettingFields
from voxcli.inputs.yamlfile import read_yaml
from voxcli.jobs.settings import DEFAULTS
from voxcli.terminal import nearest

Count = Annotated[int, Field(gt=0)]


class EngineFields(BaseModel):
    """Engine options in a preset: names and types of `ModelOptions`; a test ensures that they are equal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_batch: Count | None = None
    prefill_tokens: Count | None = None
    decode_clips: Count | None = None


class Preset(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    description: str = ""
    settings: SettingFields = SettingFields()
    engine: EngineFields = EngineFields()

    def values(self) -> dict[str, Any]:
        """Return all values that it sets, by name."""
        return self.settings.model_dump(exclude_none=True) | self.engine.model_dump(exclude_none=True)


def preset_folder() -> Path:
    """Return the folder of the package's presets: inside the package if installed, beside it in a checkout."""
    package = Path(str(resources.files("voxcli")))
    inside = package / "presets"
    return inside if os.path.isdir(inside) else package.parent / "presets"


def own_folder() -> Path:
    """Return the folder of the user's own presets."""
    return config_folder() / "presets"


def preset_files() -> dict[str, Path]:
    """Return the file of every preset by name, sorted. The user's own presets override those of the package."""
    files = {path.stem: path for folder in (preset_folder(), own_folder()) for path in files_with(".yaml", folder)}
    return dict(sorted(files.items()))


def preset_names() -> list[str]:
    return list(preset_files())


def load_preset(named: str) -> dict[str, Any]:
    """Return the settings of a preset by name, or of a .yaml file by path. Raises InputError."""
    return read_preset(named).settings.model_dump(exclude_none=True)


def preset_path(named: str) -> Path:
    """Return the file of a preset by name, or a .yaml path, which need not exist. Raises InputError."""
    if "\x00" in named:
        raise InputError(f"no preset {quoted(named)}: no file has such a name")
    if named.endswith((".yaml", ".yml")):
        return located(named)
    files = preset_files()
    if named not in files:
        guess = nearest(named, files)
        there = f"did you mean {guess!r}?" if guess else f"there are {', '.join(files)}, or name a .yaml file"
        raise InputError(f"no preset {quoted(named)}; {there}")
    return files[named]


def read_preset(named: str) -> Preset:
    """Read a preset by name, or from a .yaml file by path. Raises InputError."""
    return _read(preset_path(named))


def _read(path: Path) -> Preset:
    values = read_yaml(path, "the preset")
    try:
        preset = Preset.model_validate(values)
        DEFAULTS.updated(preset.settings.model_dump(exclude_none=True))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = shortened(".".join(map(str, first["loc"]))) or "file"
        reason = f"{first['msg'][0].lower()}{first['msg'][1:]}"
        if first["type"] in ("model_type", "model_attributes_type"):
            reason = "it has no fields, such as steps: 5" if first["loc"] else "it has no fields, such as settings"
        raise InputError(f"preset {path}: {where}: {reason}") from error
    except InputError as error:
        raise InputError(f"preset {path}: {error}") from error
    return preset
