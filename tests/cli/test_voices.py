"""Named voices from the command line, with the real engine and a tiny random checkpoint."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from tests.checkpoints import write_checkpoint
from voxcli.cli.main import run
from voxcli.voices.store import read_info, read_latents, read_recording, voice_path, voices_folder, write_voice

SHORT = ["--seed", "5", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    t = np.arange(44_100 * 2) / 44_100
    soundfile.write("v.wav", (0.3 * np.sin(2 * np.pi * 140 * t)).astype(np.float32), 44_100)
    return tmp_path


def sound(path: str | io.BytesIO) -> np.ndarray:
    samples: np.ndarray = soundfile.read(path)[0]
    return samples


def test_a_named_voice_speaks_as_its_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["voices", "add", "anna", "--ref", "v.wav"]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{voice_path('anna')}\n"
    assert shown.err == "voice anna: 2.0 s of v.wav, 44.1 kHz mono -> 16 kHz mono\n"
    assert voice_path("anna").stat().st_size < 250_000, "two seconds of 16 bits at 44.1 kHz, and latents"
    assert run(["clone", "--ref", "v.wav", "Hello.", "-o", "a.wav", *SHORT]) == 0
    assert run(["clone", "--voice", "anna", "Hello.", "-o", "b.wav", *SHORT]) == 0
    assert run(["synth", "--voice", "anna", "Hello.", "-o", "c.wav", *SHORT]) == 0
    assert run(["synth", "Hello.", "-o", "d.wav", *SHORT]) == 0
    assert np.array_equal(sound("a.wav"), sound("b.wav"))
    assert np.array_equal(sound("a.wav"), sound("c.wav"))
    assert not np.array_equal(sound("a.wav"), sound("d.wav"))


def test_with_its_words_a_voice_is_gone_on_from() -> None:
    assert run(["voices", "add", "anna", "--ref", "v.wav", "--text", " Hum\u00adming. "]) == 0
    assert read_info(voice_path("anna")).text == "Humming."
    line = {"id": "a", "text": "Hello.", "ref": "v.wav", "prompt_audio": "v.wav", "prompt_text": "Humming."}
    Path("lines.jsonl").write_text(json.dumps(line))
    assert run(["batch", "lines.jsonl", "-o", "out", "--allow-truncated", *SHORT]) == 0
    assert run(["synth", "--voice", "anna", "Hello.", "-o", "b.wav", *SHORT]) == 0
    assert np.array_equal(sound("out/a.wav"), sound("b.wav"))


def test_a_cast_over_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["voices", "add", "anna", "--ref", "v.wav"]) == 0
    t = np.arange(16_000 * 2) / 16_000
    soundfile.write("guard.wav", (0.3 * np.sin(2 * np.pi * 90 * t)).astype(np.float32), 16_000)
    cast = 'Guard: {ref: guard.wav, control: gruff}\nAnna: {voice: anna, steps: 3}\nOld Bob: {control: "an old man"}\n'
    Path("cast.yaml").write_text(cast)
    lines = ["id;character;text", "1;Guard;Halt!", "2;Anna;It is me.", "3;Old Bob;So.", "4;;Nobody."]
    Path("lines.csv").write_text("\n".join(lines))
    command = ["batch", "lines.csv", "-o", "out", "--cast", "cast.yaml", *SHORT]
    assert run(command) == 0
    alone = {
        "1": ["Halt!", "--ref", "guard.wav", "--control", "gruff", *SHORT],
        "2": ["It is me.", "--voice", "anna", *SHORT, "--steps", "3"],
        "3": ["So.", "--control", "an old man", *SHORT],
        "4": ["Nobody.", *SHORT],
    }
    for name, options in alone.items():
        assert run(["synth", *options, "-o", "alone.wav"]) == 0
        assert Path("alone.wav").read_bytes() == Path("out", f"{name}.wav").read_bytes(), name
    Path("cast.yaml").write_text(cast.replace("gruff", "soft"))
    capsys.readouterr()
    assert run(command) == 0
    assert "3 lines done before" in capsys.readouterr().err, "only the guard's line is spoken again"
    Path("cast.yaml").write_text("Guard: {ref: lost.wav}\nAnna: {}\nOld Bob: {}\n")
    assert run(command) == 2
    assert "lost.wav: no such file" in capsys.readouterr().err
    Path("cast.yaml").write_text("Guard: {}\nOld Bob: {}\n")
    assert run(command) == 2
    assert "line 3: no character 'Anna' in cast.yaml; there are 'Guard', 'Old Bob'" in capsys.readouterr().err


def test_voices_in_a_manifest(tmp_path: Path) -> None:
    assert run(["voices", "add", "anna", "--ref", "v.wav"]) == 0
    Path("sub").mkdir()
    voice_path("anna").rename("sub/kept.safetensors")
    assert run(["voices", "add", "ben", "--ref", "v.wav"]) == 0
    lines = [
        {"id": "own", "text": "Hello.", "voice": "ben"},
        {"id": "file", "text": "Hello.", "voice": "kept.safetensors"},
        {"id": "recorded", "text": "Hello.", "ref": "../v.wav"},
        {"id": "common", "text": "Hello."},
        {"id": "lost", "text": "Hello.", "voice": "nobody"},
    ]
    Path("sub/lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run(["batch", "sub/lines.jsonl", "-o", "out", "--voice", "ben", *SHORT]) == 1
    results = {line["id"]: line for line in map(json.loads, Path("out/results.jsonl").read_text().splitlines())}
    assert results["lost"]["error"].startswith("no voice 'nobody', there are ben")
    spoken = ["own", "file", "recorded", "common"]
    for name in spoken:
        assert results[name]["status"] == "ok"
        assert results[name]["voice_notes"] == ["44.1 kHz mono -> 16 kHz mono"]
        assert np.array_equal(sound(f"out/{name}.wav"), sound("out/own.wav"))


@pytest.mark.parametrize("words", [[], ["--text", "Humming."]], ids=["reference", "continued"])
def test_a_voice_is_encoded_again_for_another_model(words: list[str], tmp_path: Path) -> None:
    """A recording of 16 bits in mono is kept as it is."""
    other = write_checkpoint(tmp_path / "other", seed=9)
    assert run(["voices", "add", "anna", "--ref", "v.wav", *words, "--model", str(other)]) == 0
    assert run(["voices", "add", "ben", "--ref", "v.wav", *words]) == 0
    Path("lines.jsonl").write_text('{"id": "a", "text": "Hello.", "voice": "anna"}\n')
    assert run(["batch", "lines.jsonl", "-o", "out", *SHORT]) == 0
    assert run(["synth", "--voice", "ben", "Hello.", "-o", "b.wav", *SHORT]) == 0
    assert Path("out/a.wav").read_bytes() == Path("b.wav").read_bytes()
    result = json.loads(Path("out/results.jsonl").read_text())
    assert result["voice_notes"] == ["44.1 kHz mono -> 16 kHz mono", "its recording was encoded again for this model"]


def test_a_voice_keeps_what_the_encoder_heard_of_its_recording() -> None:
    """Two channels of a high rate: mixed, cut, and at 48 kHz."""
    t = np.arange(96_000 * 62) / 96_000
    left = 0.3 * np.sin(2 * np.pi * 140 * t) * (np.sin(2 * np.pi * t / 7) > -0.9)
    soundfile.write("long.wav", np.stack((left, left / 2), 1), 96_000, subtype="FLOAT")
    assert run(["voices", "add", "long", "--ref", "long.wav"]) == 0
    kept = read_recording(voice_path("long"))
    assert kept is not None and len(kept) < 6e6
    info = soundfile.info(io.BytesIO(kept))
    assert (info.format, info.subtype, info.samplerate, info.channels) == ("FLAC", "PCM_24", 48_000, 1)
    assert info.duration == pytest.approx(read_info(voice_path("long")).seconds, abs=0.01) and info.duration <= 60
    expected = soxr.resample(left[: info.frames * 2] * 0.75, 96_000, 48_000, quality="VHQ")
    assert np.abs(sound(io.BytesIO(kept)) - expected)[:-100].max() < 1e-5


def test_a_voice_of_an_earlier_version_is_refused_for_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no recording."""
    other = write_checkpoint(tmp_path / "other", seed=9)
    assert run(["voices", "add", "anna", "--ref", "v.wav", "--model", str(other)]) == 0
    path = voice_path("anna")
    write_voice(path, read_info(path), read_latents(path))
    capsys.readouterr()
    assert run(["synth", "--voice", "anna", "Hello.", "-o", "a.wav", *SHORT]) == 2
    assert capsys.readouterr().err.startswith("voxcpm2: the voice 'anna' was made with another model; create it again")
    assert run(["synth", "--voice", "anna", "Hello.", "-o", "a.wav", "--model", str(other), *SHORT]) == 0


def test_list_and_remove(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["voices", "list"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    hint = "add one with `voxcpm2 voices add NAME --ref FILE`"
    assert shown.err == f"voxcpm2: no voices yet in {voices_folder()}; {hint}\n"
    assert run(["voices", "add", "anna", "--ref", "v.wav", "--text", "Hum."]) == 0
    assert run(["voices", "add", "benjamin", "--ref", "v.wav"]) == 0
    capsys.readouterr()
    assert run(["voices", "remove", "anan"]) == 2
    assert capsys.readouterr().err == "voxcpm2: no voice 'anan'; did you mean 'anna'?\n"
    (voices_folder() / "odd.safetensors").write_text("what")
    capsys.readouterr()
    assert run(["voices", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'anna        2.0 s  v.wav  "Hum."'
    assert lines[1] == "benjamin    2.0 s  v.wav"
    assert "odd.safetensors is not a voice made by" in lines[2]
    assert run(["voices", "remove", "anna", "odd"]) == 0
    assert capsys.readouterr().err == "removed anna\nremoved odd\n"
    assert run(["voices", "remove", "anna"]) == 2
    assert "no voice 'anna', there are benjamin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["voices", "add", "a/b", "--ref", "v.wav"],
            "a voice name consists of letters, digits, -, _ and dots, not 'a/b'",
        ),
        (["voices", "add", "anna", "--ref", "none.wav"], "none.wav"),
        (["voices", "add", "anna", "--ref", "v.wav", "--text", "..."], "--text has no letter and no digit"),
        (["synth", "--voice", "anna", "Hello.", "-o", "a.wav"], "no voice 'anna', there are none yet"),
        (["synth", "--voice", "anna", "--ref", "v.wav", "Hello.", "-o", "a.wav"], "--voice and --ref exclude"),
        (["clone", "Hello.", "-o", "a.wav"], "name a recording with --ref, or a voice with --voice"),
        (["clone", "--voice", "anna", "--ref-text", "Hm.", "Hello.", "-o", "a.wav"], "a named voice has its own"),
    ],
)
def test_what_can_not_be_is_told_before_a_model_is_looked_for(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.engine.load.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
