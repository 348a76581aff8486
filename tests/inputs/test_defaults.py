"""Values that lines don't set come from the command, its preset and the defaults file, in that order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from voxcli.cli.setting_options import SettingOptions
from voxcli.errors import InputError, ManifestError
from voxcli.inputs.defaults import read_defaults
from voxcli.inputs.manifest import LineDefaults, read_manifest
from voxcli.jobs.settings import DEFAULTS, PAUSE_AFTER, Settings


def yaml(folder: Path, text: str, name: str = "defaults.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def manifest(folder: Path, *rows: dict[str, Any]) -> str:
    (folder / "lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return str(folder / "lines.jsonl")


def test_every_field_of_a_defaults_file_reaches_the_lines(tmp_path: Path) -> None:
    common = read_defaults(
        yaml(tmp_path, "\ufeffref: a.wav\ncontrol: warm\nsteps: 6\npause_after: 0.8\nformat: flac\n")
    )
    assert common == LineDefaults(Settings(steps=6, format="flac"), tmp_path / "a.wav", control="warm", pause_after=0.8)
    (job,) = read_manifest(manifest(tmp_path, {"text": "a"}), tmp_path / "out", common).jobs
    assert (job.ref, job.control, job.settings.steps) == (tmp_path / "a.wav", "warm", 6)
    assert (job.pause_after, job.out.name) == (0.8, "00001.flac")
    continued = read_defaults(yaml(tmp_path, "prompt_audio: p.wav\nprompt_text: Before.\n"))
    assert (continued.prompt_audio, continued.prompt_text) == (tmp_path / "p.wav", "Before.")
    assert read_defaults(yaml(tmp_path, "# nothing\n")) == LineDefaults()


def test_the_line_goes_before_the_options_those_before_the_preset_and_that_before_the_defaults_file(
    tmp_path: Path,
) -> None:
    common = read_defaults(yaml(tmp_path, "steps: 3\ncfg: 3.0\nmax_seconds: 3.0\nmin_seconds: 0.3\n"))
    preset = yaml(tmp_path, "settings: {steps: 4, cfg: 4.0, max_seconds: 4.0}", "p.yaml")
    settings = SettingOptions(str(preset), steps=5, cfg=5.0).settings(common.settings)
    assert settings == Settings(steps=5, cfg=5.0, max_seconds=4.0, min_seconds=0.3)
    source = manifest(tmp_path, {"text": "a", "steps": 6}, {"text": "b"})
    first, second = read_manifest(source, tmp_path, replace(common, settings=settings)).jobs
    assert first.settings == Settings(steps=6, cfg=5.0, max_seconds=4.0, min_seconds=0.3)
    assert second.settings == settings


def test_a_preset_of_a_line_goes_before_the_options_and_after_what_the_line_says(tmp_path: Path) -> None:
    yaml(tmp_path, "settings: {steps: 4, cfg: 4.0}", "mine.yaml")
    source = manifest(tmp_path, {"text": "a", "preset": "mine.yaml", "cfg": 6.0}, {"text": "b", "preset": "fast"})
    first, second = read_manifest(source, tmp_path / "out", LineDefaults(Settings(steps=9, cfg=5.0, seed=1))).jobs
    assert first.settings == Settings(steps=4, cfg=6.0, seed=1)
    assert second.settings == SettingOptions("fast").settings(Settings(cfg=5.0, seed=1))
    assert second.settings.steps != 9


def test_presets_that_a_line_can_not_take_are_told_with_the_line(tmp_path: Path) -> None:
    yaml(tmp_path, "engine: {max_batch: 2}", "engine.yaml")
    source = manifest(
        tmp_path, {"text": "a"}, {"text": "b", "preset": "engine.yaml"}, {"text": "c", "preset": "nothing"}
    )
    with pytest.raises(ManifestError) as caught:
        read_manifest(source, tmp_path / "out")
    first, second = map(str, caught.value.problems)
    assert first == "line 2: preset 'engine.yaml' sets max_batch for a whole run: name it with --preset"
    assert second.startswith("line 3: no preset 'nothing'; there are ")


def test_a_pause_is_of_the_line_else_of_the_defaults_file_else_the_default(tmp_path: Path) -> None:
    source = manifest(tmp_path, {"text": "a", "pause_after": 0}, {"text": "b"})
    assert [job.pause_after for job in read_manifest(source, tmp_path, LineDefaults(pause_after=2.0)).jobs] == [
        0.0,
        2.0,
    ]
    assert [job.pause_after for job in read_manifest(source, tmp_path).jobs] == [0.0, PAUSE_AFTER]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stepz: 3\ncfg: x\n", r"unknown field 'stepz': did you mean 'steps'\?"),
        ("stepz: 3\ncfg: x\n", "cfg: input should be a valid number, not 'x'"),
        ("text: a\n", "unknown field 'text'"),
        ("preset: fast\n", "unknown field 'preset'"),
        ("steps: 1\n", "steps must be from 2 to 1000, not 1"),
        ("- steps\n", "it has no fields, such as steps: 16"),
        ("steps: [\n", "is not YAML"),
    ],
)
def test_what_is_wrong_in_a_defaults_file_is_told(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        read_defaults(yaml(tmp_path, text))
    assert "defaults.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_defaults_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can't read the defaults .*no\.yaml: No such file"):
        read_defaults(tmp_path / "no.yaml")


def test_the_defaults_are_untouched() -> None:
    assert SettingOptions().settings() is DEFAULTS


@pytest.mark.parametrize("text", ["steps", "[steps]", "0"])
def test_what_has_no_fields_gets_an_example(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_defaults(path)
    assert str(caught.value) == f"defaults {path}: it has no fields, such as steps: 16"
