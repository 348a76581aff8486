"""The keyword arguments of `TTS.speak`, `stream` and `batch`, and the jobs made from them.

A text with keyword arguments is checked as a line of a manifest is, by the same code and with the same words.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import TypedDict

from voxcli.api.voice import Voice
from voxcli.errors import InputError, ManifestError, quoted
from voxcli.inputs.columns import hint
from voxcli.inputs.defaults import line_defaults
from voxcli.inputs.manifest import LineDefaults, Manifest, jobs_of_rows
from voxcli.inputs.presets import preset_path, read_preset
from voxcli.inputs.schema import Row
from voxcli.jobs.job import Job
from voxcli.jobs.plan import check_voices
from voxcli.jobs.protected import ProtectedInputs
from voxcli.jobs.settings import Settings

AnyPath: TypeAlias = str | PathLike[str]


class SettingOptions(TypedDict, total=False):
    """The settings of `voxcli.jobs.settings.Settings`; None counts as absent."""

    seed: int | None
    cfg: float | None
    steps: int | None
    solver: str | None
    min_seconds: float | None
    max_seconds: float | None
    max_chars: int | None
    normalize: bool | None
    language: str | None
    descriptions: bool | None
    format: str | None
    bitrate: int | None
    sample_rate: int | None
    level: float | None
    loudness: float | None


class SpeechOptions(SettingOptions, total=False):
    """The keyword arguments of `speak`, `stream` and `batch`: fields of a manifest's line. All are optional."""

    voice: Voice | AnyPath | None
    ref: AnyPath | None
    prompt_audio: AnyPath | None
    prompt_text: str | None
    control: str | None
    lexicon: AnyPath | None
    preset: AnyPath | None


NAMES = tuple(SpeechOptions.__annotations__)


def _explained() -> str:
    """The arguments with the words of the README: they are declared in one place."""
    fields = Row.model_fields
    return "\n".join(f"{name + ':':<14}{fields[name].description}" for name in NAMES)


SpeechOptions.__doc__ = f"{SpeechOptions.__doc__}\n\n{_explained()}\n"


def one_job(text: str, options: Mapping[str, Any], base: Settings, inputs: ProtectedInputs) -> Job:
    """Return the job of a text. base: settings that the options override. Raises InputError."""
    values, base = _read(options, base, inputs)
    try:
        (job,) = jobs_of_rows([{"text": text, **values}], "", LineDefaults(base), inputs, strict=True).jobs
    except ManifestError as error:
        raise InputError("; ".join(problem.message for problem in error.problems)) from None
    return replace(job, id="speech", out=Path(f"speech{job.out.suffix}"), line=0, numbered=False)


def many_jobs(rows: Iterable[object], options: Mapping[str, Any], base: Settings, inputs: ProtectedInputs) -> Manifest:
    """Return the jobs of a batch's rows. options: for rows that say nothing themselves.

    Raises InputError for the options, ManifestError for the rows.
    """
    values, base = _read(options, base, inputs)
    defaults = line_defaults(values, Path(), "the options", base)
    if defaults.voice is not None and (defaults.ref is not None or defaults.prompt_audio is not None):
        raise InputError("voice excludes ref and prompt_audio: a named voice already contains a recording")
    check_voices(defaults.ref, defaults.prompt_audio, defaults.voice)
    return jobs_of_rows(map(_plain_row, rows), "rows", defaults, inputs, strict=False)


def voices_in(values: Iterable[object]) -> Iterator[Voice]:
    """Yield the voices of rows and options: whoever uses their files keeps them."""
    for value in values:
        if isinstance(value, Mapping) and isinstance(voice := value.get("voice"), Voice):
            yield voice


def _read(options: Mapping[str, Any], base: Settings, inputs: ProtectedInputs) -> tuple[dict[str, Any], Settings]:
    """Return the options that are given, as plain values, and `base` with the settings of their preset."""
    for name in options:
        if name not in NAMES:
            raise InputError(f"unknown option {quoted(name)}{hint(name, NAMES)}")
    values = {name: value for name, value in _plain_row(options).items() if value is not None}
    if (named := values.pop("preset", None)) is not None:
        preset = read_preset(named)
        inputs.add(preset_path(named), "the preset")
        if engine := preset.engine.model_dump(exclude_none=True):
            raise InputError(f"preset {quoted(named)} sets {', '.join(engine)} for the engine: name it in load()")
        base = base.updated(preset.settings.model_dump(exclude_none=True))
    return values, base


def _plain_row(row: object) -> Any:
    """A row with plain values: those of JSON."""
    return {name: _plain(name, value) for name, value in row.items()} if isinstance(row, Mapping) else row


def _plain(name: object, value: object) -> object:
    if isinstance(value, Voice) and name == "voice":
        return str(value.path)
    if isinstance(value, PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value  # what pandas has where nothing is
