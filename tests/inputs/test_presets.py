from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from voxcli.cli.options import BatchModelOptions, ModelOptionGroup
from voxcli.cli.setting_options import SettingOptions
from voxcli.engine.config import EngineConfig
from voxcli.engine.load import ENGINE_OPTIONS, ModelOptions
from voxcli.errors import InputError
from voxcli.inputs.presets import EngineFields, load_preset, own_folder, preset_files, preset_names, read_preset
from voxcli.jobs.settings import DEFAULTS

PACKAGED = ["audiobook", "balanced", "dialogue", "fast", "low-memory", "phone", "quality"]


def test_the_presets_of_the_package() -> None:
    assert preset_names() == PACKAGED
    assert load_preset("fast") == {"solver": "ab2", "steps": 6}
    assert load_preset("low-memory") == {"max_chars": 160}


@pytest.mark.parametrize("name", PACKAGED)
def test_every_value_of_a_preset_changes_something(name: str) -> None:
    preset = read_preset(name)
    assert preset.description
    same = [key for key, value in preset.values().items() if hasattr(DEFAULTS, key) and getattr(DEFAULTS, key) == value]
    assert same == (list(preset.values()) if name == "balanced" else [])


def test_what_a_preset_says_of_the_engine_reaches_it() -> None:
    assert tuple(EngineFields.model_fields) == ENGINE_OPTIONS
    for owner in (EngineConfig, ModelOptions):
        assert set(ENGINE_OPTIONS) <= {field.name for field in dataclasses.fields(owner)}
    assert ModelOptionGroup(device="cpu").model_options("low-memory") == ModelOptions(
        device="cpu", max_batch=4, prefill_tokens=512, decode_clips=2
    )
    assert BatchModelOptions(max_batch=9).model_options("low-memory").max_batch == 9, "the command line goes first"
    assert ModelOptionGroup().model_options(None) == ModelOptions()


def test_the_command_line_goes_before_the_preset() -> None:
    assert SettingOptions("fast").settings().steps == 6
    assert SettingOptions("fast", steps=7, cfg=None).settings().steps == 7


def test_a_preset_of_ones_own_is_found_by_name_and_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert own_folder() == tmp_path / "voxcpm2" / "presets"
    own_folder().mkdir(parents=True)
    (own_folder() / "mine.yaml").write_text("settings: {cfg: 1.5}")
    (own_folder() / "fast.yaml").write_text("settings: {steps: 3}\nengine: {max_batch: 2}")
    assert load_preset("mine") == {"cfg": 1.5}
    assert load_preset("fast") == {"steps": 3}
    assert preset_names() == sorted([*PACKAGED, "mine"])
    assert preset_files()["fast"].parent == own_folder()


def test_a_preset_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("settings: {cfg: 1.5, max_chars: 100}")
    assert load_preset(str(path)) == {"cfg": 1.5, "max_chars": 100}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("settings: {stepz: 5}", "settings.stepz: extra inputs are not permitted"),
        ("settings: {steps: many}", "settings.steps: input should be a valid integer"),
        ("settings: {steps: 1}", "steps must be from 2 to 1000, not 1"),
        ("steps: 5", "steps: extra inputs are not permitted"),
        ("engine: {max_batch: 0}", "engine.max_batch: input should be greater than 0"),
        ("engine: {batch: 2}", "engine.batch: extra inputs are not permitted"),
        ("[", "is not YAML"),
        ("", "file: it has no fields, such as settings"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_a_wrong_preset_is_told_with_its_name(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_preset(str(path))
    assert "mine.yaml" in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(InputError, match="no preset 'nothing'; there are audiobook, balanced, dialogue, fast"):
        load_preset("nothing")
    with pytest.raises(InputError, match=r"^no preset 'fastest'; did you mean 'fast'\?$"):
        load_preset("fastest")
    with pytest.raises(InputError, match="can't read the preset"):
        load_preset("nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("settings: 5", "settings: it has no fields, such as steps: 5"),
        ("[steps]", "file: it has no fields, such as settings"),
    ],
)
def test_what_has_no_fields_gets_an_example(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_preset(str(path))
    assert str(caught.value) == f"preset {path}: {message}"
