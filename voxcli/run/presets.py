"""Settings by name: small YAML files, those that come with the package or one's own.

description: half the solver steps
settings:
  steps: 5
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from voxcli.errors import InputError
from voxcli.run.fields import SettingFields
from voxcli.run.settings import DEFAULTS


class Preset(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = ""
    settings: SettingFields


def preset_folder() -> Path:
    """Where the package's presets lie: inside it when installed, beside it in a checkout."""
    package = Path(str(resources.files("voxcli")))
    inside = package / "presets"
    return inside if inside.is_dir() else package.parent / "presets"


def preset_names() -> list[str]:
    return sorted(path.stem for path in preset_folder().glob("*.yaml"))


def load_preset(named: str) -> dict[str, Any]:
    """The settings of a preset by name, or of a .yaml file by path. Raises InputError."""
    is_path = named.endswith((".yaml", ".yml"))
    path = Path(named) if is_path else preset_folder() / f"{named}.yaml"
    if not is_path and named not in preset_names():
        raise InputError(f"no preset {named!r}; there are {', '.join(preset_names())}, or name a .yaml file")
    try:
        preset = Preset.model_validate(yaml.safe_load(path.read_text(encoding="utf-8-sig")))
        values = preset.settings.model_dump(exclude_none=True)
        DEFAULTS.updated(values)
    except OSError as error:
        raise InputError(f"can't read the preset {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"preset {path} is not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise InputError(f"preset {path}: {where}: {first['msg'][0].lower()}{first['msg'][1:]}") from error
    except InputError as error:
        raise InputError(f"preset {path}: {error}") from error
    return values
