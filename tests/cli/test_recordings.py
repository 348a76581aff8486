"""A recording that can't be a voice is refused before a model is loaded, and by --dry-run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.cli.main import run

RATE = 16_000
REFUSED = {
    "silent": "there is only silence in it (level zero)",
    "nan": "it has samples that are not finite: 1 of 32,001",
    "short": "only 0.99 s long; a voice needs at least 1 s",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for module in ("voxcli.engine.load", "voxcli.run.batch"):
        monkeypatch.setattr(f"{module}.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    tone = 0.3 * np.sin(np.arange(2 * RATE) / 20)
    soundfile.write("silent.wav", np.zeros(2 * RATE), RATE)
    soundfile.write("nan.wav", np.append(tone, np.nan), RATE, subtype="FLOAT")
    soundfile.write("short.wav", tone[: RATE - 1], RATE)
    soundfile.write("good.wav", tone, RATE)
    return tmp_path


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    "command",
    [
        ["synth", "Hello.", "-o", "a.wav", "--ref"],
        ["clone", "Hello.", "-o", "a.wav", "--ref"],
        ["clone", "Hello.", "-o", "a.wav", "--ref-text", "Hum.", "--ref"],
        ["synth", "Hello.", "-o", "a.flac", "--ref"],
        ["voices", "add", "anna", "--ref"],
    ],
)
def test_one_text(command: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, f"{name}.wav"]) == 2
    assert capsys.readouterr().err == f"voxcpm2: {name}.wav: {REFUSED[name]}\n"


def test_lines_of_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": name, "text": "Hello.", "ref": f"{name}.wav"} for name in (*REFUSED, "good")]
    rows.append({"id": "words", "text": "Hello.", "prompt_audio": "good.wav", "prompt_text": "..."})
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["batch", "lines.jsonl", "-o", "out", "--dry-run"]) == 1
    out = capsys.readouterr().out
    assert "1 line to speak" in out
    for line, (name, why) in enumerate(REFUSED.items(), 1):
        assert f"  line {line} ({name}): {name}.wav: {why}\n" in out
    assert "  line 5 (words): prompt_text has no letter and no digit: give the words of the recording\n" in out


@pytest.mark.parametrize("words", ["...", "", " "])
def test_words_of_a_recording_that_are_none(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    why = "has no letter and no digit: give the words of the recording\n"
    assert run(["clone", "Hello.", "--ref", "good.wav", "--ref-text", words, "-o", "a.wav"]) == 2
    assert capsys.readouterr().err == f"voxcpm2: --ref-text {why}"
    assert run(["voices", "add", "anna", "--ref", "good.wav", "--text", words]) == 2
    assert capsys.readouterr().err == f"voxcpm2: --text {why}"
