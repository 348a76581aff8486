"""The examples in every help text run as typed; shells can complete commands, presets and voices."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import typer

from voxcli.cli.main import program, run
from voxcli.voices.store import remove_voice, voice_names

WORDS = "The wind came over the hill. "
# They take minutes, download gigabytes, run until Ctrl-C, or need a recognizer, so their examples are only parsed.
NOT_RUN = ("bench", "check", "download", "serve")


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of names of every command and group."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


PATHS = list(commands(typer.main.get_command(program())))


def examples(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run([*path, "--help"]) == 0
    before, _, after = capsys.readouterr().out.partition("Examples:\n")
    assert before and after
    return [line.strip() for line in after.strip().splitlines()]


def invocations(example: str) -> list[list[str]]:
    """Return the arguments of each `voxcpm2` in a shell line."""
    found = []
    for part in re.split(r"&&|\||>", example):
        words = [word for word in shlex.split(part) if not re.match(r"[A-Z0-9_]+=", word)]
        if words[:1] == ["voxcpm2"]:
            found.append(words[1:])
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brief_checkpoint: Path) -> None:
    """Create all files named in examples."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    t = np.arange(16_000 * 2) / 16_000
    soundfile.write("voice.wav", (0.3 * np.sin(2 * np.pi * 140 * t)).astype(np.float32), 16_000)
    for name in ("chapter.txt", "script.txt", "book.txt"):
        Path(name).write_text(f"{WORDS}\n{WORDS}\n")
    Path("lines.jsonl").write_text('{"text": "Hello there."}\n')


def set_voices(example: str) -> None:
    """Create two named voices, except for an example that adds them."""
    for name in voice_names():
        remove_voice(name)
    if not re.match(r"voxcpm2 voices add (?!.*--force)", example):
        for name in ("anna", "ben"):
            assert run(["voices", "add", name, "--ref", "voice.wav"]) == 0


def test_all_commands_are_looked_at() -> None:
    assert {("synth",), ("batch",), ("voices",), ("voices", "add"), ("presets",)} < set(PATHS)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_a_help_ends_with_two_examples_that_run(
    path: tuple[str, ...], here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = examples(path, capsys)
    assert len(shown) == 2
    for example in shown:
        assert " ".join(("voxcpm2", *path)) in example
        set_voices(example)
        lines = invocations(example)
        assert lines
        for arguments in lines:
            parse(arguments)
            if arguments[0] not in NOT_RUN:
                assert run(arguments) == 0, capsys.readouterr().err


def parse(arguments: list[str]) -> None:
    """Parse a command line. Raises the parser's errors."""
    command: Any = typer.main.get_command(program())
    rest, context = arguments, command.context_class(command, info_name="voxcpm2")
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, rest)
        context = command.context_class(command, info_name=name, parent=context)
    command.make_context(command.name, rest, parent=context.parent)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synth", "Hello.", "-o", "a.wav", "--nonsense"], "No such option"),
        (["voices", "ad"], "no such command"),
        (["batch", "lines.txt"], "Missing"),
    ],
)
def test_a_wrong_example_would_be_found(arguments: list[str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        parse(arguments)


def completed(words: str) -> list[str]:
    """Return the completions of the last word."""
    environment = os.environ | {
        "_VOXCPM2_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run([sys.executable, "-m", "voxcli"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_shell_completes_commands_presets_and_voices(here: None) -> None:
    set_voices("")
    assert completed("voxcpm2 ba") == ["batch"]
    assert completed("voxcpm2 voices re") == ["remove"]
    assert completed("voxcpm2 synth --preset f") == ["fast"]
    assert completed("voxcpm2 synth --voice a") == ["anna"]
    assert completed("voxcpm2 voices remove b") == ["ben"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("synth --device ", ["auto", "cpu", "cuda", "mps"]),
        ("synth --dtype ", ["auto", "float32", "bfloat16", "float16"]),
        ("synth --format o", ["ogg", "opus"]),
        ("synth --subtitles ", ["srt", "vtt", "words", "karaoke"]),
        ("synth --check-device ", ["cpu", "cuda"]),
    ],
)
def test_a_shell_completes_the_values_of_options(words: str, expected: list[str]) -> None:
    assert completed(f"voxcpm2 {words}") == expected
    assert "--normalize" in completed("voxcpm2 synth --no")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("batch --device c", ["cpu", "cuda"]),
        ("bench --dtype ", ["auto", "float32", "bfloat16", "float16"]),
        ("synth --format wav", ["wav", "wav24", "wavf"]),
        ("clone --subtitles ", ["srt", "vtt", "words", "karaoke"]),
        ("batch --input-format m", ["markdown"]),
    ],
)
def test_a_shell_completes_the_words_of_an_option(words: str, offered: list[str]) -> None:
    assert completed(f"voxcpm2 {words}") == offered


def test_the_completion_script_can_be_shown() -> None:
    environment = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run(
        [sys.executable, "-m", "voxcli", "--show-completion", "bash"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "complete -o default -F _voxcpm2_completion voxcpm2" in shown
