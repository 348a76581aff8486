"""Settings are declared once: the typed keyword arguments are those of `Settings` and of a manifest's line."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import voxcli
from voxcli.api.options import NAMES, SettingOptions, SpeechOptions
from voxcli.inputs.schema import LineFields, Row
from voxcli.jobs.settings import DECLARED, Settings


def test_settings_are_those_of_jobs() -> None:
    declared = {name: hint | None for name, hint in get_type_hints(Settings).items()}
    assert get_type_hints(SettingOptions) == declared
    assert list(SettingOptions.__annotations__) == list(DECLARED)


def test_the_other_options_are_fields_of_a_line() -> None:
    fields = set(LineFields.model_fields) - {"pause_after", "takes"} | {"preset"}
    assert set(NAMES) == fields == set(get_type_hints(SpeechOptions))


def test_help_explains_every_option() -> None:
    text = inspect.getdoc(SpeechOptions) or ""
    for name in NAMES:
        assert f"\n{name + ':':<14}{Row.model_fields[name].description}" in text


def test_methods_take_the_options() -> None:
    for method in (voxcli.TTS.speak, voxcli.TTS.stream, voxcli.TTS.batch):
        parameter = inspect.signature(method).parameters["options"]
        assert parameter.kind is inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation == "Unpack[SpeechOptions]"
        assert "options:" in (inspect.getdoc(method) or "")
