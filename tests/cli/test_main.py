"""The command line: help, errors in one line, exit codes. Speech is tested in test_speech.py."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from voxcli.cli.help import examples
from voxcli.cli.main import run
from voxcli.diagnostics.doctor import examine
from voxcli.engine import exactness
from voxcli.errors import ManifestError, OutputError, Problem
from voxcli.kernels.exact import PLAIN

DASH = "text that starts with a dash goes last, after --: voxcpm2 synth -o FILE -- TEXT"
COMMANDS = ("synth", "batch", "clone", "check", "serve", "presets", "bench", "download", "doctor", "voices")


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


@pytest.mark.parametrize(
    ("message", "spin"),
    [({}, "20000"), ({"GOMP_SPINCOUNT": "5"}, "5"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_spin_for_a_moment_unless_told_otherwise(
    message: dict[str, str], spin: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in message.items():
        monkeypatch.setenv(name, value)
    run(["--help"])
    assert os.environ.get("GOMP_SPINCOUNT") == spin
    monkeypatch.setenv("GOMP_SPINCOUNT", "")  # so that it is restored after this test


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        expected = f"voxcpm2 {version('voxcpm2')}\n"
    except PackageNotFoundError:
        expected = "voxcpm2 (not installed, running from a checkout)\n"
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "no such command 'nonsense'"),
        (["cone"], "no such command 'cone'; did you mean 'clone'?"),
        (["Hello there."], "no such command 'Hello there.'; to speak a text: voxcpm2 synth \"Hello there.\" -o FILE"),
        (["synth", "Hello.", "-o"], "option '-o' requires an argument"),
        (["synth", "Hello", "there", "-o", "a.wav"], 'put the text in quotes: voxcpm2 synth "Hello there"'),
        (["synth", "It", "costs", "$5", "-o", "a.wav"], "put the text in quotes: voxcpm2 synth 'It costs $5'"),
        (["clone", "a", "b", "--ref", "v.wav", "-o", "a.wav"], 'put the text in quotes: voxcpm2 clone "a b"'),
        (["batch", "a.txt", "b.txt", "-o", "out"], "unexpected argument 'b.txt'"),
        (["synth", "Hello.", "-o", "a.wav", "--nonsense"], "no such option: --nonsense"),
        (["synth", "-5", "-o", "a.wav"], f"no such option: -5; {DASH}"),
        (["synth", "-Hello there.", "-o", "a.wav"], f"no such option: -H; {DASH}"),
        (["synth", "--Hello there.", "-o", "a.wav"], f"no such option: --Hello there.; {DASH}"),
        (["batch", "-5", "-o", "out"], "no such option: -5"),
        (["synth", "Hello.", "-o", "a.wav", "--gpu"], "no such option: --gpu"),
        (["synth", "Hello.", "-o", "a.wav", "--quiet"], "no such option: --quiet"),
        (["synth", "Hello.", "-o", "a.wav", "--step", "5"], "no such option: --step; did you mean --steps?"),
        (["synth", "Hello.", "--output", "a.wav"], "no such option: --output; did you mean --out?"),
        (["synth", "--sample_rate", "8000"], "no such option: --sample_rate; did you mean --sample-rate?"),
        (["--verison"], "no such option: --verison; did you mean --version?"),
        (["batch", "lines.txt"], "missing option '--out' / '-o'"),
        (["voices", "forget"], "no such command 'forget'"),
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert re.fullmatch(rf"voxcpm2: {re.escape(message)}; see `voxcpm2.* --help`", line)


@pytest.mark.parametrize("arguments", [[], ["synth"], ["batch"], ["voices"]])
def test_a_command_without_arguments_shows_its_help_and_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert "Examples:" in shown.out + shown.err


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> list[str]:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("voxcli.run.single.speak_one", fail)
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
    err = capsys.readouterr().err
    assert err == "voxcpm2: unexpected KeyError: 'lost' (rerun with --debug for the traceback)\n"


@pytest.mark.parametrize("error", [OutputError("full"), KeyError("lost")])
def test_debug_shows_the_traceback_before_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    assert run([*failing(monkeypatch, error), "--debug"]) == getattr(error, "exit_code", 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1].startswith("voxcpm2: ")
    assert "--debug" not in lines[-1]


@pytest.mark.parametrize("closed", ["2>&-", "1>&- 2>&-", "0>&- 1>&- 2>&-"])
def test_what_is_for_people_never_lands_on_stdout(closed: str, tmp_path: Path) -> None:
    for arguments in ("batch none.jsonl -o out", "synth --nonsense", "batch none.jsonl -o out --debug"):
        done = shell(f"{arguments} {closed}", tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("synth - -o a.wav 0<&-", 2, "stdin is closed: nothing can be read from it"),
        ("batch - -o out 0<&-", 2, "stdin is closed: nothing can be read from it"),
        ("presets 1>&-", 1, "stdout is closed: nothing can be written to it"),
        ("--help 1>&-", 1, "stdout is closed: nothing can be written to it"),
        ("synth Hello. -o - 1>&-", 1, "stdout is closed: nothing can be written to it"),
    ],
)
def test_a_closed_stream_that_is_needed_is_one_line(arguments: str, code: int, message: str, tmp_path: Path) -> None:
    done = shell(arguments, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"voxcpm2: {message}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_words_for_people_that_can_not_be_written_are_lost_and_nothing_else(tmp_path: Path) -> None:
    for arguments in ("presets 2>/dev/full", "batch none.jsonl -o out 2>/dev/full", "synth 2>/dev/full"):
        done = shell(arguments, tmp_path)
        assert done.returncode == (0 if "presets" in arguments else 2), arguments
        assert bool(done.stdout) == ("presets" in arguments)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["presets", "--help", "synth --help", "batch lines.jsonl -o out --dry-run"])
def test_data_that_can_not_be_written_is_one_line(
    arguments: str, buffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", buffered)
    (tmp_path / "lines.jsonl").write_text('{"text": "Hello."}')
    done = shell(f"{arguments} >/dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (1, "voxcpm2: stdout can't be written (No space left on device)\n")


def test_a_reader_that_goes_away_early_is_one_line(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "voxcli", "presets"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(), text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "voxcpm2: stdout was closed\n")


@pytest.mark.parametrize(
    "encoding",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    ],
)
def test_a_character_that_stdout_lacks_is_escaped(
    encoding: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in encoding.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "u.jsonl").write_text('{"id": "\u00e9\u597d", "text": ""}\n{"text": "Hello."}', encoding="utf-8")
    done = shell("batch u.jsonl -o out --dry-run", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\n  line 1 (\\xe9\\u597d): the text has nothing to speak" in done.stdout


def test_a_byte_of_a_name_that_is_no_text_stands_on_stdout_as_it_is(tmp_path: Path) -> None:
    code = r"from voxcli.cli.streams import stand_in; stand_in(); print('\udcff \u597d \ud800')"
    env = environment() | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, check=True)
    assert done.stdout == b"\xff \\u597d \\ud800" + os.linesep.encode()


@pytest.mark.skipif(os.name == "nt", reason="a folder in use can't be removed there")
@pytest.mark.parametrize("arguments", ["synth Hello. -o a.wav", "synth Hello. -o {there}/a.wav", "doctor", "presets"])
def test_without_a_working_directory_there_is_one_line(arguments: str, tmp_path: Path) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && {shlex.quote(sys.executable)} -m voxcli {arguments}"
    command = ["sh", "-c", line.format(there=tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "voxcpm2: the working directory no longer exists: change to another one\n"
    assert list(tmp_path.iterdir()) == []


LONG = "x" * 300


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["synth", "Hello.", "-o", f"{LONG}.wav"], 1, "L.wav: can't be written (File name too long)"),
        (["synth", "Hello.", "-o", f"{LONG}/a.wav"], 1, "can't create the folder L: File name too long"),
        (["synth", "--file", LONG, "-o", "a.wav"], 2, "can't read L: File name too long"),
        (["synth", "Hello.", "-o", "a.wav", "--lora", LONG], 3, "L: the LoRA folder does not exist"),
        (["synth", "Hello.", "-o", "a.wav", "--model", LONG], 3, "--model: L does not exist"),
        (["synth", "Hello.", "-o", "a.wav", "--ref", LONG], 2, "L: can't be opened (File name too long)"),
        (["synth", "Hello.", "-o", "a.wav", "--voice", f"{LONG}.safetensors"], 2, "voices add` (File name too long)"),
        (["clone", "Hello.", "-o", "a.wav", "--ref", LONG], 2, "L: can't be opened (File name too long)"),
        (["batch", LONG, "-o", "out"], 2, "can't read the manifest L: File name too long"),
        (["batch", "lines.jsonl", "-o", LONG], 1, "can't create the folder L: File name too long"),
        (
            ["batch", "lines.jsonl", "-o", "out", "--join", f"{LONG}.wav"],
            1,
            "L.wav: can't be written (File name too long)",
        ),
        (["batch", "lines.jsonl", "-o", "out", "--report", f"{LONG}.html"], 1, "L.html: can't be written (File name"),
        (
            ["batch", "lines.jsonl", "-o", "out", "--defaults", LONG],
            2,
            "can't read the defaults file L: File name too long",
        ),
        (
            ["batch", "lines.jsonl", "-o", "out", "--preset", f"{LONG}.yaml"],
            2,
            "can't read the preset L.yaml: File name",
        ),
        (["batch", "lines.jsonl", "-o", "out", "--lora", LONG], 3, "L: the folder does not exist"),
        (["batch", "lines.jsonl", "-o", "out", "--lora", "none"], 3, "none: the folder does not exist"),
        (["bench", "--model", LONG], 3, "--model: L does not exist"),
        (["voices", "add", "a", "--ref", LONG], 2, "L: can't be opened (File name too long)"),
        (["voices", "remove", LONG], 2, "a voice name consists of letters"),
    ],
)
def test_a_name_too_long_for_the_system_is_one_line(
    arguments: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lines.jsonl").write_text('{"text": "Hello."}')
    assert run(arguments) == code
    told_of_others = ("small demo voice", "JSON Lines of 1 line")
    lines = [line for line in capsys.readouterr().err.splitlines() if not any(map(line.__contains__, told_of_others))]
    assert len(lines) == 1
    assert message in lines[0].replace(LONG, "L")


def test_folders_of_one_s_own_with_names_too_long_have_nothing_in_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, f"/{LONG}")
    assert run(["presets"]) == 0
    assert run(["voices", "list"]) == 0
    assert "audiobook" in capsys.readouterr().out
    assert run(["synth", "Hello.", "-o", "a.wav", "--preset", "none"]) == 2
    assert "no preset 'none'" in capsys.readouterr().err


def shell(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = f"exec {shlex.quote(sys.executable)} -m voxcli {arguments}"
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True)


def environment() -> dict[str, str]:
    """Run with the checkout on the path, from any folder."""
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}


def test_a_message_has_no_raw_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.jsonl").write_text(json.dumps({"id": "a\nb\x1b[2J\u202e", "text": ""}))
    assert run(["batch", "m.jsonl", "-o", "out", "--dry-run"]) == 1
    assert "  line 1 (a\\nb\\x1b[2J\\u202e): " in capsys.readouterr().out
    assert run(["batch", "m.jsonl", "-o", "out"]) == 1
    assert capsys.readouterr().err.splitlines()[1].startswith("voxcpm2: line 1 (a\\nb\\x1b[2J\\u202e): the text has")
    assert run(["batch", "no\x1b[31m.jsonl", "-o", "out"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_missing_normalizer_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("voxcli.engine.load.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    monkeypatch.setattr("voxcli.run.batch.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    monkeypatch.setitem(sys.modules, "wetext", None)
    Path("m.jsonl").write_text('{"text": "No digit."}\n{"text": "None.", "normalize": true}\n')
    for command in (
        ["synth", "No digit.", "--normalize", "-o", "a.wav"],
        ["batch", "m.jsonl", "-o", "out"],
        ["batch", "m.jsonl", "-o", "out", "--dry-run"],
    ):
        assert run(command) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err == "voxcpm2: normalizing needs more packages: pip install wetext inflect unicode-rbnf\n"
    assert [path.name for path in tmp_path.iterdir()] == ["m.jsonl"]


def test_doctor_lists_the_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voxcli.extras.find_spec", lambda name: None if name == "matplotlib" else object())
    found = {finding.what: finding for finding in examine()}
    assert (found["normalize"].state, found["plot"].state) == ("ok", "note")
    assert found["plot"].remedy == "pip install matplotlib"


@pytest.mark.parametrize(
    ("holds", "threads", "message"),
    [
        (True, True, ("ok", "alone and in any batch; with any number of threads")),
        (True, False, ("ok", "alone and in any batch; with 1 thread")),
        (False, True, ("note", "last bits depend on the rest of the batch (1 of 2 operations)")),
    ],
)
def test_doctor_tells_what_is_promised_of_bytes(
    holds: bool, threads: bool, message: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    strategies = {"a": PLAIN, "b": PLAIN if holds else None}
    monkeypatch.setattr(exactness, "examine", lambda model: exactness.Exactness(strategies, 1))
    monkeypatch.setattr(exactness, "same_with_any_threads", lambda model: threads)
    found = {finding.what: finding for finding in examine()}
    assert (found["same bytes"].state, found["same bytes"].detail) == message


@pytest.mark.parametrize(("option", "name"), [("--device", "gpu"), ("--device", "cuda:x"), ("--dtype", "int8")])
@pytest.mark.parametrize("command", [["synth", "Hello.", "-o", "a.wav"], ["bench"]], ids=["synth", "bench"])
def test_a_device_or_dtype_that_does_not_exist_is_wrong_usage(
    command: list[str],
    option: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*command, option, name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"voxcpm2: {option} must be one of auto, ") and err.endswith(f", not {name!r}\n")


def test_a_device_that_is_not_here_is_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    model = ["--model", str(tiny_checkpoint)]
    assert run(["synth", "Hello.", "-o", "a.wav", "--device", "cuda:1", *model]) == 3
    assert "no CUDA device is available" in capsys.readouterr().err


def test_without_a_home_the_presets_still_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert run(["presets"]) == 0
    assert "audiobook" in capsys.readouterr().out


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(failing(monkeypatch, KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.strip() == "voxcpm2: interrupted"


def test_problems_of_a_manifest_follow_their_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = [Problem(line, "wrong") for line in range(1, 61)]
    assert run(failing(monkeypatch, ManifestError("m.jsonl", problems))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "voxcpm2: m.jsonl: 60 problems, first: line 1: wrong"
    assert lines[1] == "  line 1: wrong"
    assert len(lines) == 52
    assert lines[-1] == "  and 10 more"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["synth", "-o", "a.wav", "--seed", "1"], "no text given"),
        (["synth", "Hello.", "--file", "x.txt", "-o", "a.wav"], "--file, not both"),
        (["synth", "", "--file", "x.txt", "-o", "a.wav"], "--file, not both"),
        (["synth", "--file", "none.txt", "-o", "a.wav"], "can't read none.txt: No such file or directory"),
        (["synth", "...", "-o", "a.wav"], "nothing to speak"),
        (["synth", "Hello.", "-o", "a.aac"], "end its name with one of .wav, .flac, .ogg, .opus, .mp3"),
        (["synth", "Hello.", "-o", "a.wav", "--steps", "1"], "--steps must be from 2 to 1000, not 1"),
        (["synth", "Hello.", "-o", "a.wav", "--steps", "ten"], "--steps must be a whole number, not 'ten'"),
        (["synth", "Hello.", "-o", "a.wav", "--cfg", "-1"], "--cfg must be a number of at least 0, not -1.0"),
        (["synth", "Hello.", "-o", "a.wav", "--cfg", "two"], "--cfg must be a number, not 'two'"),
        (["synth", "Hello.", "-o", "a.wav", "--format", "aac"], "--format must be one of wav, wav24, wavf, ulaw,"),
        (["synth", "Hello.", "-o", "-", "--format", "flac"], "--format flac needs an audio file: -o - streams wav"),
        (
            ["synth", "Hello.", "-o", "a.wav", "--min-seconds", "2", "--max-seconds", "1"],
            "--max-seconds (1.0) must be greater than min_seconds (2.0)",
        ),
        (["bench", "--patches", "1"], "--patches must be a whole number from 4 to 2000, not '1'"),
        (
            ["batch", "a", "-o", "out", "--voice-seed", "-1"],
            "--voice-seed must be a whole number from 0 to 9223372036854775807, not '-1'",
        ),
        (["batch", "a", "-o", "out", "--max-batch", "0"], "--max-batch must be a whole number of at least 1, not '0'"),
        (
            ["batch", "a", "-o", "out", "--hang-timeout", "nan"],
            "--hang-timeout must be a number of at least 1, not 'nan'",
        ),
        (["synth", "Hello.", "-o", "a.wav", "--cfg", "nan"], "--cfg must be a number, not 'nan'"),
        (["synth", "Hello.", "-o", "a.wav", "--preset", "best"], "no preset 'best'; there are "),
        (["synth", "Hello.", "-o", "a.wav", "--ref", "none.wav"], "none.wav"),
        (["clone", "--ref", ".", "Hello.", "-o", "a.wav"], "."),
        (
            ["clone", "--ref", "v.wav", "--ref-text", "a", "--control", "b", "c", "-o", "a.wav"],
            "--ref-text and --control exclude each other: a voice is continued or described, not both",
        ),
        (["synth", "Hello.", "-o", "a.wav", "--preset", "fsat"], "no preset 'fsat'; did you mean 'fast'?"),
        (["batch", "none.jsonl", "-o", "out"], "can't read the manifest none.jsonl"),
        (["bench", "--concurrency", "1,x"], "--concurrency must be numbers like 1,4,16, not '1,x'"),
    ],
)
def test_wrong_input_is_told_before_a_model_is_looked_for(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("voxcli.engine.load.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    assert run(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("voxcpm2: ")
    assert message in lines[0]
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
    assert "nowhere does not exist" in capsys.readouterr().err
    assert not (tmp_path / "a.wav").exists()


def test_download_offline_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["download"]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "HF_HUB_OFFLINE" in shown.err
