"""Real-world texts, from the command line to samples, cues and exit codes; clips are short."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from voxcli.cli.main import run

FAST = ["--steps", "2", "--seed", "3", "--allow-truncated"]
MARKED = "Hello there. [pause 1.5s] And so on."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brief_checkpoint: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    return tmp_path


def results(folder: str) -> dict[str, dict[str, Any]]:
    lines = Path(folder, "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


def longest_silence(samples: np.ndarray) -> int:
    """Return the length of the longest run of zero samples."""
    edges = np.flatnonzero(np.concatenate(([1], samples, [1])))
    return int(np.diff(edges).max()) - 1


def test_a_scene_break_is_a_pause_of_the_book(capsys: pytest.CaptureFixture[str]) -> None:
    Path("book.txt").write_text("The lamp went out.\n\n* * *\n\nIn the morning the fog was gone.\n")
    command = ["batch", "book.txt", "-o", "out", *FAST, "--join", "book.wav"]
    for _ in range(2):
        assert run(command) == 0
    err = capsys.readouterr().err
    assert "1 line without words is a pause: line 3 (00002), 1 s" in err
    assert "2 of 3 lines done (2 before), 0 failed, 1 without words" in err
    found = results("out")
    assert {name: line["status"] for name, line in found.items()} == {"00001": "ok", "00002": "skipped", "00003": "ok"}
    assert found["00002"]["duration_s"] == 1.0
    assert len(Path("out/results.jsonl").read_text().splitlines()) == 3
    lengths = [soundfile.info(f"out/0000{n}.wav").frames for n in (1, 3)]
    assert not Path("out/00002.wav").exists()
    assert soundfile.info("book.wav").frames == sum(lengths) + soundfile.info("book.wav").samplerate


def test_a_text_of_marks_alone_is_refused_where_it_is_the_only_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", "* * *", "-o", "a.wav", *FAST]) == 2
    assert capsys.readouterr().err == "voxcpm2: the text has nothing to speak: no letter and no digit\n"
    assert not Path("a.wav").exists()


def test_an_empty_text_fails_alone() -> None:
    Path("lines.jsonl").write_text('{"id": "a", "text": ""}\n{"id": "b", "text": "Hello."}')
    assert run(["batch", "lines.jsonl", "-o", "out", *FAST]) == 1
    assert {name: line["status"] for name, line in results("out").items()} == {"a": "failed", "b": "ok"}


def test_a_pause_is_as_long_in_every_command(tmp_path: Path) -> None:
    tone = np.sin(np.arange(32_000) / 20).astype(np.float32) * 0.3
    soundfile.write("voice.wav", tone, 16_000)
    Path("lines.jsonl").write_text(json.dumps({"id": "a", "text": MARKED}))
    assert run(["synth", MARKED, "-o", "synth.wav", *FAST, "--subtitles", "srt"]) == 0
    assert run(["batch", "lines.jsonl", "-o", "out", *FAST]) == 0
    assert run(["clone", MARKED, "--ref", "voice.wav", "-o", "clone.wav", *FAST]) == 0
    command = [sys.executable, "-m", "voxcli", "synth", MARKED, "-o", "-", *FAST]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    streamed = subprocess.run(command, capture_output=True, check=True, env=env).stdout
    for sound in ("synth.wav", "out/a.wav", "clone.wav", io.BytesIO(streamed)):
        samples, rate = soundfile.read(sound, dtype="int16")
        assert 0 <= longest_silence(samples) - round(1.5 * rate) <= 4  # fades end in zeros
    words = [line for line in Path("synth.srt").read_text().splitlines() if line[:1].isalpha()]
    assert words == ["Hello there.", "And so on."]
    cues = results("out")["a"]["cues"]
    assert cues[1][0] - cues[0][1] == pytest.approx(1.5, abs=2e-4)


def test_a_pause_that_is_too_long_fails_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synth", "Hello. [pause 1000s]", "-o", "a.wav", *FAST]) == 2
    assert capsys.readouterr().err == "voxcpm2: a pause of 1000 s; the maximum is 60 s\n"


def test_asides_are_spoken_and_descriptions_reported(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.txt").write_text("(She never came back.) The door stayed open.\n(a warm voice) Hello.\n")
    assert run(["batch", "lines.txt", "-o", "out", *FAST]) == 0
    err = capsys.readouterr().err
    assert "1 line begins with a description of the voice, which is not spoken: line 2 (00002), (a warm voice)" in err
    found = results("out")
    assert found["00001"]["cues"][0][2] == "(She never came back.) The door stayed open."
    assert [found[name]["description"] for name in ("00001", "00002")] == [None, "a warm voice"]
    assert run(["batch", "lines.txt", "-o", "all", *FAST, "--no-descriptions"]) == 0
    assert results("all")["00002"]["cues"][0][2] == "(a warm voice) Hello."


def test_tags_that_are_left_out_are_warnings() -> None:
    Path("a.txt").write_text(
        '<speak>Wait here.<break time="700ms"/>Now <emphasis level="strong">run</emphasis>!</speak>'
    )
    assert run(["batch", "a.txt", "-o", "out", *FAST]) == 0
    (line,) = results("out").values()
    assert line["warnings"] == ["tags left out: emphasis"]
    assert [cue[2] for cue in line["cues"]] == ["Wait here.", "Now run!"]
