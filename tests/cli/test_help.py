"""All help texts: options in panels, no line wider than the terminal, two kinds of metavar, all settings listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from voxcli.cli.help import PANELS
from voxcli.cli.main import program, run
from voxcli.cli.setting_options import option_name
from voxcli.jobs.settings import DECLARED


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command and group with its path of names."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


ALL = list(commands(typer.main.get_command(program())))
PATHS = [path for path, _ in ALL]
OPTIONS = [
    (path, param)
    for path, command in ALL
    for param in command.params
    if param.param_type_name == "option"
    and "completion" not in param.name  # Typer's own options, in the panel "Other options"
]
SPEAKING = ("synth", "clone", "batch")


def help_of(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*path, "--help"]) == 0
    return capsys.readouterr().out


def test_every_option_has_a_panel_and_a_help_text() -> None:
    assert len(OPTIONS) > 80
    for path, param in OPTIONS:
        assert param.rich_help_panel in PANELS, (path, param.name)
        assert re.fullmatch(r"\S.{10,}\.", param.help), (path, param.name)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
@pytest.mark.parametrize(("terminal", "columns"), [(60, 60), (80, 80), (200, 100)])
def test_no_line_is_wider_than_the_terminal_or_100_columns(
    path: tuple[str, ...],
    terminal: int,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(terminal))
    before, _, shown_examples = help_of(path, capsys).partition("Examples:\n")
    assert max(map(len, before.splitlines())) <= columns
    assert max(map(len, shown_examples.splitlines())) <= 80, "examples are not wrapped, so that they can be copied"


def test_a_wide_terminal_is_used(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert max(map(len, help_of(("batch",), capsys).splitlines())) > 90


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_a_metavar_is_capitals_for_a_value_or_words_typed_as_they_are(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = re.findall(r"^  (?:-\w, )?--[\w-]+ (\S+)", help_of(path, capsys), re.MULTILINE)
    for metavar in shown:
        if metavar != "/":  # --normalize / --no-normalize
            assert all(re.fullmatch(r"[A-Z:,.=]+|[a-z0-9]+", word) for word in metavar.split("|")), metavar


@pytest.mark.parametrize("command", SPEAKING)
def test_a_command_that_speaks_has_an_option_for_each_setting(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = [inner for path, inner in ALL if path == (command,)]
    names = {name for param in found.params for name in param.opts}
    assert {option_name(setting) for setting in DECLARED} <= names
    shown = " ".join(help_of((command,), capsys).split())
    for declared in DECLARED.values():
        default = declared.unset or (declared.kind is not bool and declared.default)  # a switch shows no default
        expected = declared.help.replace("`", "")
        assert f"{expected[1:]}.{f'  [default: {default}]' if default else ''}".replace("  ", " ") in shown


def test_panels_come_in_the_order_of_need(capsys: pytest.CaptureFixture[str]) -> None:
    titles = re.findall(r"^([A-Z][\w ]+):$", help_of(("batch",), capsys), re.MULTILINE)
    panels = ["Output", "Input", "Voice", "Speech", "Resume", "Check", "Model", "Workers", "Other options"]
    assert titles == ["Arguments", *panels, "Examples"]


def test_rare_options_come_late(capsys: pytest.CaptureFixture[str]) -> None:
    """It comes after the first screen of 24 lines."""
    first = "\n".join(help_of(("batch",), capsys).splitlines()[:24])
    assert "--out" in first
    for rare in ("--hang-timeout", "--max-retries", "--debug", "--max-batch", "--dtype", "--max-chars"):
        assert rare not in first
