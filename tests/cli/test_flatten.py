from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer

from voxcli.cli.flatten import OptionGroup, flatten, option
from voxcli.cli.help import OTHER
from voxcli.cli.main import run
from voxcli.cli.options import ModelOptionGroup
from voxcli.cli.setting_options import SettingOptions
from voxcli.engine.load import ModelOptions
from voxcli.jobs.settings import NAMES, Settings


@dataclass(frozen=True)
class Pair(OptionGroup):
    first: Annotated[int, option(OTHER, "--first", help="The first.")]
    second: Annotated[str | None, option(OTHER, "--second", help="The second.")] = None


def test_a_group_becomes_its_options_and_arrives_as_one_value() -> None:
    calls = []

    def command(name: str, pair: Pair, switch: bool = False) -> None:
        """The help text."""
        calls.append((name, pair, switch))

    flat = flatten(command)
    assert list(inspect.signature(flat).parameters) == ["name", "first", "second", "switch"]
    assert flat.__doc__ == "The help text."
    flat(name="a", first=1, second="b", switch=True)
    assert calls == [("a", Pair(1, "b"), True)]


def test_typer_parses_the_options_of_a_group() -> None:
    calls = []

    def command(pair: Pair) -> None:
        calls.append(pair)

    app = typer.Typer()
    app.command()(flatten(command))
    app(["--second", "b", "--first", "2"], standalone_mode=False)
    app(["--first", "3"], standalone_mode=False)
    assert calls == [Pair(2, "b"), Pair(3)]


def test_a_setting_is_declared_once() -> None:
    """The option comes from the declaration: neither this test nor a command lists the settings."""
    assert set(inspect.signature(SettingOptions).parameters) == {"preset", *NAMES}


def test_options_override_the_preset_and_the_preset_the_base() -> None:
    group = SettingOptions("fast", cfg=3.0, seed=None)
    assert group.settings(Settings(cfg=1.0, seed=4, steps=20)) == Settings(cfg=3.0, seed=4, steps=6, solver="ab2")


def test_model_options_override_the_preset() -> None:
    assert ModelOptionGroup(model="m", device="cpu").model_options(None) == ModelOptions("m", "cpu")


def test_numbers_on_the_command_line_reach_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    caught: list[Settings] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("voxcli.cli.synth.speak", lambda job, *_: caught.append(job.settings))
    messages = ["--seed", "7", "--cfg", "1.5", "--steps", "9", "--min-seconds", "1", "--max-seconds", "2.5"]
    messages += [
        "--max-chars",
        "30",
        "--solver",
        "ab2",
        "--normalize",
        "--format",
        "wav24",
        "--sample-rate",
        "8000",
        "--level",
        "-20",
    ]
    assert run(["synth", "Hello.", "-o", "a.wav", *messages]) == 0
    numbers = {"seed": 7, "cfg": 1.5, "steps": 9, "min_seconds": 1.0, "max_seconds": 2.5, "max_chars": 30}
    others = {"solver": "ab2", "normalize": True, "format": "wav24", "sample_rate": 8000, "level": -20.0}
    assert caught == [Settings(**numbers, **others)]
