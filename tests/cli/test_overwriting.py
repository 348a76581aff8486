"""No command overwrites an input, or one output with another: both are refused before a model is loaded."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.cli.main import run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a manifest of two lines, a recording, a preset and a text, under names that an output may have."""
    monkeypatch.chdir(tmp_path)
    for module in ("voxcli.engine.load", "voxcli.run.batch"):
        monkeypatch.setattr(f"{module}.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    rows = [{"id": "a", "text": "One."}, {"id": "b", "text": "Two."}]
    for name in ("lines.jsonl", "page.html", "a.srt", "a.wav", "results.jsonl", ".voxcpm2.lock"):
        Path(name).write_text("\n".join(map(json.dumps, rows)))
    Path("text.srt").write_text("Hello there.")
    Path("text.wav").write_text("Hello there.")
    Path("own.yaml").write_text("settings: {steps: 5}\n")
    Path("fields.html").write_text("steps: 5\n")
    soundfile.write("voice.wav", 0.3 * np.sin(np.arange(48_000) / 20), 24_000)
    Path("voice.srt").write_bytes(Path("voice.wav").read_bytes())
    Path("preset.html").symlink_to("own.yaml")
    os.link("lines.jsonl", "hard.html")
    for folder in ("out/sub", "deep", "model"):
        Path(folder).mkdir(parents=True)
    Path("linked").symlink_to("out")
    Path("out/sublink").symlink_to("sub")
    Path("model/config.json").touch()
    return tmp_path


def state() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


BATCH = ["batch", "lines.jsonl", "-o", "out"]
MANIFEST = "would overwrite the manifest"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # outputs that clash
        (
            [*BATCH, "--join", "linked/a.wav"],
            "the joined file and the file of line 1 (a) would be the same file, linked/a.wav",
        ),
        ([*BATCH, "--join", "out/A.WAV"], "the joined file and the file of line 1 (a) would be the same file"),
        (
            [*BATCH, "--subtitles", "srt", "--join", "linked/b.flac"],
            "the subtitles of b.flac and the subtitles of b.wav",
        ),
        (
            [*BATCH, "--join", "out/a.wav/book.wav"],
            "the joined file would be inside 'a.wav', which is the file of line 1 (a)",
        ),
        (
            [*BATCH, "--report", "linked/b.wav/deep/x.html"],
            "the report would be inside 'b.wav', which is the file of line 2",
        ),
        (
            [*BATCH, "--join", "out/results.jsonl/x.wav"],
            "would be inside 'results.jsonl', which is results.jsonl of the run",
        ),
        (
            [*BATCH, "--report", "linked/.voxcpm2.lock/x.html"],
            "would be inside '.voxcpm2.lock', which is .voxcpm2.lock of",
        ),
        # outputs that are the manifest
        (["batch", "page.html", "-o", "out", "--report", "page.html"], f"the report {MANIFEST} 'page.html'"),
        (["batch", "page.html", "-o", "out", "--report", "deep/../PAGE.html"], f"the report {MANIFEST} 'page.html'"),
        ([*BATCH, "--report", "hard.html"], f"the report {MANIFEST} 'lines.jsonl'"),
        (["batch", "a.wav", "-o", "."], "line 1: output 'a.wav' is the manifest 'a.wav'"),
        (["batch", "a.wav", "-o", "out", "--join", "a.wav"], f"the joined file {MANIFEST} 'a.wav'"),
        (["batch", "a.srt", "-o", ".", "--subtitles", "srt"], f"the subtitles of a.wav {MANIFEST} 'a.srt'"),
        (["batch", "results.jsonl", "-o", "."], "results.jsonl of the output folder is the manifest 'results.jsonl'"),
        (["batch", "results.jsonl", "-o", ".", "--dry-run"], "results.jsonl of the output folder is the manifest"),
        (["batch", ".voxcpm2.lock", "-o", "."], ".voxcpm2.lock of the output folder is the manifest '.voxcpm2.lock'"),
        # outputs that are other inputs of a batch
        (
            [*BATCH, "--defaults", "fields.html", "--report", "fields.html"],
            "would overwrite the defaults file 'fields.html'",
        ),
        ([*BATCH, "--preset", "own.yaml", "--report", "preset.html"], "would overwrite the preset 'own.yaml'"),
        ([*BATCH, "--ref", "voice.wav", "--join", "voice.wav"], "would overwrite the recording 'voice.wav'"),
        # outputs of one text
        (["synth", "--file", "text.srt", "-o", "text.wav", "--subtitles", "srt"], "text.srt would overwrite the text"),
        (["synth", "--file", "text.wav", "-o", "text.wav"], "text.wav would overwrite the text 'text.wav'"),
        (
            ["synth", "Hello.", "--ref", "voice.wav", "-o", "deep/../voice.wav"],
            "would overwrite the recording 'voice.wav'",
        ),
        (
            ["synth", "Hello.", "--ref", "voice.srt", "-o", "voice.flac", "--subtitles", "srt"],
            "overwrite the recording 'voice.srt'",
        ),
        (
            ["clone", "Hello.", "--ref", "voice.wav", "-o", "Voice.wav"],
            "Voice.wav would overwrite the recording 'voice.wav'",
        ),
        (
            ["clone", "--file", "text.wav", "--ref", "voice.wav", "-o", "text.wav"],
            "would overwrite the text 'text.wav'",
        ),
    ],
)
def test_what_would_be_lost_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = state()
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert state() == before


def test_lines_through_a_linked_folder(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"text": "One.", "out": "sub/x.wav"}, {"text": "Two.", "out": "sublink/x.wav"}]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(BATCH) == 2
    assert capsys.readouterr().err == "voxcpm2: lines.jsonl: line 2: output 'x.wav' is already that of line 1\n"


@pytest.mark.parametrize(
    ("arguments", "source", "message"),
    [
        (["synth", "-", "-o", "text.wav"], "text.wav", "text.wav would overwrite the text"),
        (
            ["synth", "--file", "-", "-o", "text.wav", "--subtitles", "srt"],
            "text.srt",
            "text.srt would overwrite the text",
        ),
        (["clone", "-", "--ref", "voice.wav", "-o", "text.wav"], "text.wav", "text.wav would overwrite the text"),
        (["batch", "-", "-o", ".", "--report", "page.html"], "page.html", "the report would overwrite the manifest"),
        (["batch", "-", "-o", "."], "a.wav", "line 1: output 'a.wav' is the manifest"),
    ],
)
def test_what_comes_from_stdin_is_an_input_too(
    arguments: list[str],
    source: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = state()
    with open(source) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run(arguments) == 2
    assert message in capsys.readouterr().err
    assert state() == before


@pytest.mark.parametrize(
    ("arguments", "out", "message"),
    [
        (["synth", "Hello.", "--ref", "voice.wav"], "voice.wav", "stdout would overwrite the recording 'voice.wav'"),
        (["synth", "--file", "text.wav"], "text.wav", "stdout would overwrite the text 'text.wav'"),
    ],
)
def test_sound_on_stdout_is_no_exception(arguments: list[str], out: str, message: str, repository: Path) -> None:
    before = state()
    command = f"{shlex.quote(sys.executable)} -m voxcli {shlex.join(arguments)} -o - >> {out}"
    env = os.environ | {"PYTHONPATH": str(repository)}
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"voxcpm2: {message}: name another file\n")
    assert state() == before


def test_a_voice_replaces_no_file_of_another_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    voices = tmp_path / "voxcpm2" / "voices"
    voices.mkdir(parents=True)
    (voices / "anna.safetensors").write_bytes(Path("voice.wav").read_bytes())
    (voices / "model.safetensors").write_bytes(b"weights")
    before = state()
    for arguments, message in (
        (["anna", "--ref", "voxcpm2/voices/anna.safetensors"], "anna.safetensors would overwrite the recording"),
        (["model", "--ref", "voice.wav", "--model", str(voices)], "model.safetensors would overwrite the model"),
        (["model", "--ref", "voice.wav"], "model.safetensors is not a voice made by `voxcpm2 voices add`"),
    ):
        assert run(["voices", "add", *arguments, "--force"]) == 2
        assert message in capsys.readouterr().err
    assert state() == before


def test_other_names_are_free(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.jsonl").write_text('{"text": "One.", "out": "sub/x.wav"}\n{"text": "Two.", "out": "sublink/y.wav"}')
    others = ["--join", "linked/x.wav", "--report", "deep/page.html", "--subtitles", "srt", "--ref", "voice.wav"]
    assert run([*BATCH, *others, "--defaults", "fields.html", "--preset", "own.yaml", "--dry-run"]) == 0
    assert capsys.readouterr().err == ""
