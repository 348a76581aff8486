"""The manners of the command line: help, errors in one line, exit codes. What speech comes out is in test_speech.py."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.cli.options import examples
from voxcli.errors import ManifestError, OutputError, Problem

COMMANDS = ("synth", "batch", "clone", "presets", "bench", "download", "doctor", "voices")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr()
    assert re.findall(r"^  ([a-z]+)  ", shown.out, re.MULTILINE) == list(COMMANDS)
    assert shown.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_ends_with_two_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    last = capsys.readouterr().out.rstrip().splitlines()[-3:]
    assert last[0].strip() == "Examples:"
    assert all(command in line and "voxcpm2" in line for line in last[1:])


def test_examples_keep_their_lines() -> None:
    assert examples("a", "b") == "\b\nExamples:\n  a\n  b"


def test_help_is_quick() -> None:
    """Under 0.3 s of user time, once compiled; the best of three, since others may use the machine."""
    costs = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([sys.executable, "-m", "voxcli", "--help"], check=True, stdout=subprocess.DEVNULL)
        costs.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    assert min(costs[1:]) < 0.3


@pytest.mark.parametrize("said", [None, "active"])
def test_threads_wait_without_spinning_unless_told_otherwise(said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if said:
        monkeypatch.setenv("OMP_WAIT_POLICY", said)
    run(["--help"])
    assert os.environ["OMP_WAIT_POLICY"] == (said or "passive")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        expected = f"voxcpm2 {version('voxcpm2')}\n"
    except PackageNotFoundError:
        expected = "voxcpm2, run from a checkout that is not installed\n"
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["synth", "Hello."],
        ["synth", "Hello.", "-o", "a.wav", "--nonsense"],
        ["synth", "Hello.", "-o", "a.wav", "--steps", "many"],
        ["batch", "lines.txt"],
        ["clone", "Hello.", "-o", "a.wav"],
        ["bench", "--patches", "1"],
    ],
)
def test_wrong_usage_is_exit_code_2_on_stderr(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> list[str]:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("voxcli.run.speak.speak_one", fail)
    return ["synth", "Hello.", "-o", "a.wav"]


def test_an_error_is_one_line_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(failing(monkeypatch, OutputError("a.wav: the disk\nis full"))) == 1
    assert capsys.readouterr().err == "voxcpm2: a.wav: the disk is full\n"


def test_an_error_of_the_program_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(failing(monkeypatch, KeyError("lost"))) == 1
    told = capsys.readouterr().err
    assert told == "voxcpm2: unexpected KeyError: 'lost' (run again with --debug for the traceback)\n"


@pytest.mark.parametrize("error", [OutputError("full"), KeyError("lost")])
def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(type(error)):
        run([*failing(monkeypatch, error), "--debug"])


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(monkeypatch, KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.strip() == "voxcpm2: interrupted"


def test_problems_of_a_manifest_follow_their_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = [Problem(line, "wrong") for line in range(1, 61)]
    assert run(failing(monkeypatch, ManifestError("m.jsonl", problems))) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "voxcpm2: m.jsonl: 60 problems, first: line 1: wrong"
    assert told[1] == "  line 1: wrong"
    assert len(told) == 52
    assert told[-1] == "  and 10 more"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["synth", "-o", "a.wav", "--seed", "1"], "no text given"),
        (["synth", "Hello.", "--file", "x.txt", "-o", "a.wav"], "and not both"),
        (["synth", "--file", "none.txt", "-o", "a.wav"], "can't read none.txt: No such file or directory"),
        (["synth", "...", "-o", "a.wav"], "nothing to speak"),
        (["synth", "Hello.", "-o", "a.aac"], "end its name with one of .wav, .flac, .ogg, .mp3"),
        (["synth", "Hello.", "-o", "a.wav", "--steps", "1"], "steps must be from 2 to 1000, not 1"),
        (["synth", "Hello.", "-o", "a.wav", "--cfg", "nan"], "cfg must be a number of at least 0, not nan"),
        (["synth", "Hello.", "-o", "a.wav", "--preset", "best"], "no preset 'best'"),
        (["synth", "Hello.", "-o", "a.wav", "--ref", "none.wav"], "none.wav"),
        (["clone", "--ref", ".", "Hello.", "-o", "a.wav"], "."),
        (["clone", "--ref", "v.wav", "--ref-text", "a", "--control", "b", "c", "-o", "a.wav"], "exclude each other"),
        (["batch", "none.jsonl", "-o", "out"], "can't read the manifest none.jsonl"),
        (["bench", "--concurrency", "1,x"], "--concurrency wants numbers like 1,4,16, not '1,x'"),
    ],
)
def test_wrong_input_is_told_before_a_model_is_looked_for(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("voxcli.run.load.choose_model", lambda *_: pytest.fail("a model was looked for"))
    assert run(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("voxcpm2: ")
    assert told in lines[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["synth", "Hello.", "-o", "a.wav"], ["bench"]])
def test_no_usable_model_is_3(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert run([*arguments, "--model", "empty"]) == 3
    assert "config.json" in capsys.readouterr().err
    assert run([*arguments, "--model", "nowhere"]) == 3
    assert "nowhere is not there" in capsys.readouterr().err
    assert not (tmp_path / "a.wav").exists()


def test_download_offline_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["download"]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "HF_HUB_OFFLINE" in shown.err
