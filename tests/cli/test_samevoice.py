"""A batch without recordings that speaks in one voice, with the real engine and a tiny random checkpoint."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests import children
from voxcli import faults
from voxcli.cli.main import run
from voxcli.errors import InputError
from voxcli.run.running_job import RunningJob
from voxcli.voices.store import VoiceOrigin, read_info, read_latents, read_recording

# a random model stops anywhere: with a minimum no clip is far too short for its text
FAST = ["--steps", "2", "--min-seconds", "0.7", "--max-seconds", "0.8", "--allow-truncated"]
HARBOUR = "The harbour was quiet that morning, and all the boats lay still."
ROWS: list[dict[str, Any]] = [
    {"id": "title", "text": "One.", "seed": 1},
    {"id": "first", "text": HARBOUR, "seed": 2},
    {"id": "second", "text": "Nobody came.", "seed": 3},
    {"id": "joe", "text": "Hello there.", "seed": 4, "ref": "v.wav"},
]
VOICE = Path("out/voice.safetensors")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, repository: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    tone = 0.3 * np.sin(np.arange(16_000 * 2) / 20)
    soundfile.write("v.wav", tone.astype(np.float32), 16_000)
    write()


def write(**changes: dict[str, Any]) -> None:
    """Write the manifest, with changed fields by id."""
    rows = [row | changes.get(row["id"], {}) for row in ROWS]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))


def batch(*options: str, out: str = "out", code: int = 0) -> None:
    assert run(["batch", "lines.jsonl", "-o", out, *FAST, *options]) == code


def results(out: str = "out") -> dict[str, Any]:
    lines = map(json.loads, Path(out, "results.jsonl").read_text().splitlines())
    return {line["id"]: line for line in lines}


def files(out: str = "out") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(out).iterdir() if path.name != "results.jsonl"}


def alone(text: str, *options: str) -> bytes:
    assert run(["synth", text, "-o", "alone.wav", *FAST, *options]) == 0
    return Path("alone.wav").read_bytes()


def test_all_lines_without_a_voice_have_that_of_the_first_one_long_enough(capsys: pytest.CaptureFixture[str]) -> None:
    batch("--same-voice")
    made = files()
    assert made.keys() == {"title.wav", "first.wav", "second.wav", "joe.wav", VOICE.name}
    expected = f"voxcpm2: 3 lines in one voice, drawn with the text of line 2 (first) and seed 2: {VOICE}"
    assert expected in capsys.readouterr().err
    for row in ROWS[:3]:
        assert made[f"{row['id']}.wav"] == alone(row["text"], "--seed", str(row["seed"]), "--voice", str(VOICE))
    assert made["joe.wav"] == alone("Hello there.", "--seed", "4", "--ref", "v.wav")
    assert {name: result["voice"] for name, result in results().items()} == {
        "title": VOICE.name,
        "first": VOICE.name,
        "second": VOICE.name,
        "joe": None,
    }
    info = read_info(VOICE)
    assert info.origin == VoiceOrigin(id="first", seed=2)
    Path("own.wav").write_bytes(alone(HARBOUR, "--seed", "2"))
    spoken, rate = soundfile.read("own.wav", dtype="float32")
    assert info.seconds == round(len(spoken) / rate, 2)
    Path("kept.flac").write_bytes(read_recording(VOICE) or b"")
    assert np.abs(soundfile.read("kept.flac", dtype="float32")[0] - spoken).max() <= 2**-16, "one step of the file"


def test_a_folder_keeps_its_voice_whatever_changes(capsys: pytest.CaptureFixture[str]) -> None:
    write(first={"seed": None})
    batch("--same-voice")
    voice, before = VOICE.read_bytes(), results()
    capsys.readouterr()
    batch()
    assert "4 lines done before and unchanged, 0 to speak" in capsys.readouterr().err, "the option is not needed again"
    write(first={"text": "The harbour was loud that morning, and all the boats were out.", "seed": None})
    Path("out/second.wav").unlink()
    batch("--dry-run")
    assert f"3 lines in one voice, {VOICE}\n" in capsys.readouterr().out
    batch()
    assert "2 lines done before and unchanged, 2 to speak (1 " in capsys.readouterr().err
    assert VOICE.read_bytes() == voice
    assert len({results()[name]["fingerprint"]["voice"] for name in ("title", "first", "second")}) == 1
    assert results()["second"]["sha256"] == before["second"]["sha256"]
    VOICE.unlink()
    batch("--dry-run")
    assert f"3 lines in one voice, to be drawn: {VOICE}\n" in capsys.readouterr().out


def test_another_voice_is_of_another_seed_or_forced(capsys: pytest.CaptureFixture[str]) -> None:
    write(first={"seed": None}, title={"seed": None}, second={"seed": None})
    batch("--voice-seed", "7")
    first = files()
    assert read_info(VOICE).origin == VoiceOrigin(id="first", seed=7, asked=7)
    assert results()["first"]["seed"] != 7, "the seed of the voice is not that of the line"
    capsys.readouterr()
    for options in (["--voice-seed", "7"], []):
        batch(*options)
        assert "4 lines done before and unchanged" in capsys.readouterr().err
    batch("--voice-seed", "8")
    assert "1 line done before and unchanged, 3 to speak (3 voice changed)" in capsys.readouterr().err
    second = files()
    assert [name for name in first if first[name] == second[name]] == ["joe.wav"]
    batch("--force")
    origin = read_info(VOICE).origin
    assert origin is not None and origin.asked is None and origin.seed not in (7, 8)
    batch("--voice-seed", "7", out="again")
    assert files("again")[VOICE.name] == first[VOICE.name], "the same seed and text, the same voice"
    assert run(["batch", "lines.jsonl", "-o", "out", "--no-same-voice", "--voice-seed", "1"]) == 2
    assert "--voice-seed and --no-same-voice exclude each other" in capsys.readouterr().err


def test_a_line_that_fails_gives_no_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunningJob.look_at_letters

    def look(running: RunningJob, tokenizer: Any) -> None:
        if running.job.id == "first":
            raise InputError("the model knows none of the letters of this text")
        real(running, tokenizer)

    monkeypatch.setattr(RunningJob, "look_at_letters", look)
    batch("--same-voice", code=1)
    assert read_info(VOICE).origin == VoiceOrigin(id="second", seed=3), "the longest of the others, all short"
    assert results()["first"]["status"] == "failed" and results()["title"]["voice"] == VOICE.name
    lines = Path("out/results.jsonl").read_text().splitlines()
    assert len(lines) == 4, "what is spoken for a voice has no result"


def test_a_clip_far_too_long_gives_no_voice_while_others_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunningJob.spoken_voice
    doubtful = {"first"}

    def spoken_voice(running: RunningJob) -> Any:
        return replace(real(running), doubtful=running.job.id in doubtful)

    monkeypatch.setattr(RunningJob, "spoken_voice", spoken_voice)
    batch("--same-voice")
    assert read_info(VOICE).origin == VoiceOrigin(id="second", seed=3)
    doubtful |= {"title", "second"}
    batch("--same-voice", out="all")
    origin = read_info(Path("all") / VOICE.name).origin
    assert origin == VoiceOrigin(id="first", seed=2), "none is better"


def test_with_a_joined_file_one_voice_is_the_default_but_in_a_folder_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    batch("--join", "book.wav")
    assert VOICE.exists()
    batch("--join", "book.wav", "--no-same-voice", out="each")
    err = capsys.readouterr().err
    assert "voxcpm2: 3 lines without a voice: each gets one of its own; --same-voice, --ref or --voice sets one" in err
    batch("--join", "book.wav", out="each")
    err = capsys.readouterr().err
    assert "voxcpm2: 3 lines of an earlier run without --same-voice: each has a voice of its own" in err
    assert "4 lines done before and unchanged, 0 to speak" in err
    assert files("each").keys() == {"title.wav", "first.wav", "second.wav", "joe.wav"}
    batch("--no-same-voice")
    assert "1 line done before and unchanged, 3 to speak (3 voice changed)" in capsys.readouterr().err
    assert {name: files()[name] for name in files("each")} == files("each")


def test_a_file_of_somebody_else_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["voices", "add", "anna", "--ref", "v.wav"]) == 0
    named = Path(capsys.readouterr().out.strip())
    VOICE.parent.mkdir()
    for content in (b"what", named.read_bytes()):
        VOICE.write_bytes(content)
        for options in ([], ["--force"]):
            batch("--same-voice", *options, code=1)
            expected = (
                f"voxcpm2: {VOICE} exists and is not the voice of this batch: move it away, choose another folder"
            )
            assert expected in capsys.readouterr().err
        assert VOICE.read_bytes() == content and not Path("out/first.wav").exists()


def test_each_character_and_each_person_has_a_voice(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cast.yaml").write_text('Guard: {control: gruff}\nAnna: {ref: v.wav}\nOld Bob: {control: "an old man"}\n')
    lines = [
        *("1;Guard;Who goes there at this time of the night, and why?", "2;Guard;Halt!", "3;Anna;It is me."),
        *(
            "4;Old Bob;I have not seen such a storm since I was a boy.",
            "5;;He sat down.",
            "6;;(whispering)Nobody spoke.",
        ),
        *("7;;(a young woman)I did.", "8;Old Bob;(whispering)So."),
    ]
    Path("lines.csv").write_text("\n".join(["id;character;text", *lines]))
    assert run(["batch", "lines.csv", "-o", "out", "--cast", "cast.yaml", "--same-voice", *FAST]) == 0
    assert {name: result["voice"] for name, result in results().items()} == {
        "1": "voice-Guard.safetensors",
        "2": "voice-Guard.safetensors",
        "3": None,
        "4": "voice-Old Bob, old man.safetensors",
        "5": "voice.safetensors",
        "6": "voice.safetensors",
        "7": None,
        "8": "voice-Old Bob, old man.safetensors",
    }


@pytest.mark.slow
def test_a_batch_killed_at_its_voice_ends_as_one_that_was_not(tiny_checkpoint: Path) -> None:
    batch("--voice-seed", "7", out="whole")
    for fault in ("write:sigkill:1", "write:sigkill:2", "note:sigkill:2"):  # at its voice, its first file, a result
        command = [*children.VOXCPM2, "batch", "lines.jsonl", "-o", "out", *FAST, "--voice-seed", "7"]
        killed = children.finished(command, capture_output=True, env=os.environ | {faults.VARIABLE: fault})
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    for path in Path("out").glob(".voxcpm2-*.part"):
        os.utime(path, (0, 0))
    batch("--voice-seed", "7")
    assert files() == files("whole")


def test_a_voice_of_a_batch_speaks_in_another_one_and_with_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch("--same-voice")
    batch("--voice", str(VOICE), out="next")
    assert read_latents(VOICE).keys() == {"reference"}
    line = results("next")["first"]
    assert line["fingerprint"]["voice"] == results()["second"]["fingerprint"]["voice"] and line["voice"] is None
