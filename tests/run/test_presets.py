from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.run.presets import load_preset, preset_names
from voxcli.run.settings import DEFAULTS


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_of_the_package_changes_something(name: str) -> None:
    assert DEFAULTS.updated(load_preset(name)) != DEFAULTS


def test_the_presets_of_the_package() -> None:
    assert preset_names() == ["fast", "quality"]
    assert load_preset("fast") == {"steps": 5}


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
        ("steps: 5", "settings: field required"),
        ("[", "is not YAML"),
        ("", "file: input should be a valid dictionary"),
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
    with pytest.raises(InputError, match="no preset 'fastest'; there are fast, quality"):
        load_preset("fastest")
    with pytest.raises(InputError, match="can't read the preset"):
        load_preset("nowhere.yaml")
