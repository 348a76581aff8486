"""From the command line to files, through the real engine with a tiny random checkpoint."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

from tests import children
from tests.adapters import lora_tensors, write_lora
from voxcli.cli.main import run
from voxcli.jobs.result import OPTIONAL, Result
from voxcli.run import profile as profile_module
from voxcli.run import results as results_module

FIELDS = [field.name for field in fields(Result) if field.name not in OPTIONAL]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> Path:
    """Run commands in an empty folder with the tiny checkpoint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    return tmp_path


def voice(path: str, pitch: float = 140.0, seconds: float = 1.3) -> str:
    t = np.arange(int(16_000 * seconds)) / 16_000
    soundfile.write(path, (0.3 * np.sin(2 * np.pi * pitch * t)).astype(np.float32), 16_000)
    return path


def sound(path: str) -> np.ndarray:
    samples: np.ndarray = soundfile.read(path)[0]
    return samples


def results(folder: str = "out") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(folder, "results.jsonl").read_text().splitlines()]


def test_synth_writes_a_file_and_says_what_it_made(capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path) -> None:
    assert (
        run(["synth", "Hello there.", "-o", "hello.wav", "--allow-truncated", "--seed", "3", "--max-seconds", "0.8"])
        == 0
    )
    info = soundfile.info("hello.wav")
    assert (info.samplerate, info.channels, info.subtype) == (24_000, 1, "PCM_16")
    assert info.frames % 1920 == 0  # whole patches: 2 latents of 8*5*4*3*2 samples
    assert info.frames >= 4 * 1920
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("hello.wav: ")
    assert f"seed 3 ({tiny_checkpoint} on cpu, float32)" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_the_same_seed_gives_the_same_file_from_every_source_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ["--seed", "7", "--steps", "3", "--max-seconds", "2", "--allow-truncated"]
    assert run(["synth", "Hello there.", "-o", "a.wav", *settings]) == 0
    Path("text.txt").write_text("\ufeffHello there.\r\n", encoding="utf-8")
    assert run(["synth", "--file", "text.txt", "-o", "b.wav", *settings]) == 0
    for source in (["-"], ["--file", "-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello there.\n")))
        assert run(["synth", *source, "-o", "c.wav", *settings]) == 0
        assert Path("a.wav").read_bytes() == Path("c.wav").read_bytes()
    assert Path("a.wav").read_bytes() == Path("b.wav").read_bytes()
    assert run(["synth", "Hello there.", "-o", "d.wav", "--allow-truncated", "--seed", "8", "--steps", "3"]) == 0
    assert Path("a.wav").read_bytes() != Path("d.wav").read_bytes()


def test_every_setting_changes_the_sound() -> None:
    common = ["synth", "Hello there.", "--seed", "7", "--max-seconds", "1.2", "--allow-truncated"]
    voice("v.wav")
    options: dict[str, list[str]] = {
        "plain": ["--steps", "4"],
        "steps": ["--steps", "6"],
        "cfg": ["--steps", "4", "--cfg", "1"],
        "control": ["--steps", "4", "--control", "warm"],
        "ref": ["--steps", "4", "--ref", "v.wav"],
        "preset": ["--preset", "fast"],
    }
    for name, chosen in options.items():
        assert run([*common, "-o", f"{name}.wav", *chosen]) == 0
    assert len({Path(f"{name}.wav").read_bytes() for name in options}) == len(options)


def test_seconds_bound_the_length() -> None:
    base = ["synth", "Hello there, my friends.", "--steps", "2", "--seed", "1"]
    assert run([*base, "-o", "short.wav", "--max-seconds", "0.5", "--allow-truncated"]) == 0
    assert soundfile.info("short.wav").duration <= 0.5
    assert run([*base, "-o", "long.wav", "--min-seconds", "3"]) == 0
    assert soundfile.info("long.wav").duration >= 3


def test_a_shortest_length_far_beyond_the_text_is_kept() -> None:
    Path("lines.txt").write_text("Hi.\n")
    run(["batch", "lines.txt", "-o", "out", "--steps", "2", "--seed", "1", "--min-seconds", "5"])
    assert soundfile.info("out/00001.wav").duration >= 5


@pytest.mark.parametrize(
    ("name", "container"), [("a.flac", "FLAC"), ("a.ogg", "OGG"), ("a.opus", "OGG"), ("a.mp3", "MP3")]
)
def test_other_formats(name: str, container: str) -> None:
    assert run(["synth", "Hello.", "-o", name, "--allow-truncated", "--steps", "2", "--max-seconds", "1"]) == 0
    assert soundfile.info(name).format == container


def test_clone_follows_the_recording_and_goes_on_from_it() -> None:
    common = ["Hello.", "--seed", "5", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    voice("low.wav", 100), voice("high.wav", 300)
    assert run(["clone", "--ref", "low.wav", "-o", "a.wav", *common]) == 0
    assert run(["clone", "--ref", "high.wav", "-o", "b.wav", *common]) == 0
    assert run(["clone", "--ref", "low.wav", "--ref-text", "Hum.", "-o", "c.wav", *common]) == 0
    assert run(["synth", "--ref", "low.wav", "-o", "d.wav", *common]) == 0
    assert not np.array_equal(sound("a.wav"), sound("b.wav"))
    assert not np.array_equal(sound("a.wav"), sound("c.wav"))
    assert np.array_equal(sound("a.wav"), sound("d.wav"))


def test_a_long_text_is_spoken_in_pieces_and_joined() -> None:
    Path("long.txt").write_text("Hello there. " * 12)
    assert (
        run(
            [
                "synth",
                "-f",
                "long.txt",
                "-o",
                "a.wav",
                "--allow-truncated",
                "--steps",
                "2",
                "--seed",
                "2",
                "--max-chars",
                "40",
            ]
        )
        == 0
    )
    assert soundfile.info("a.wav").duration > 4 * 4 * 0.08  # four segments of at least four patches each


def test_batch_writes_files_and_results_in_order_of_landing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"id": f"n{n}", "text": "Hello there. " * (n % 3 + 1), "seed": n, "steps": 2 + n % 2} for n in range(6)]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert run(["batch", "lines.jsonl", "-o", "out", "--max-seconds", "2", "--allow-truncated"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[:3] == [
        "voxcpm2: lines.jsonl: JSON Lines of 6 lines",
        "voxcpm2: 6 lines without a voice: each gets one of its own; --same-voice, --ref or --voice sets one",
        "6 of 6 lines done, 0 failed",
    ]
    done = results()
    assert sorted(line["id"] for line in done) == [f"n{n}" for n in range(6)]
    for line in done:
        assert list(line) == FIELDS
        info = soundfile.info(Path("out", line["out"]))
        assert line["status"] == "ok"
        assert line["duration_s"] == pytest.approx(info.duration, abs=1e-3)
        assert line["sample_rate"] == info.samplerate
        assert line["duration_s"] == pytest.approx(line["patches"] * 1920 / 24_000, abs=1e-3)
        assert line["rtf"] == pytest.approx(line["wall_s"] / line["duration_s"], rel=0.01)
        assert line["wall_s"] > 0
        assert line["error"] is None
    assert sum(path.suffix == ".wav" for path in Path("out").iterdir()) == 6
    assert {path.name for path in Path("out").iterdir()} == {"results.jsonl", *(line["out"] for line in done)}


def test_a_line_of_a_batch_is_what_synth_gives_alone() -> None:
    Path("lines.jsonl").write_text(
        "\n".join(json.dumps({"id": f"n{n}", "text": f"Hello {'there ' * n}", "seed": n}) for n in range(5))
    )
    settings = ["--steps", "3", "--max-seconds", "2", "--allow-truncated"]
    assert run(["batch", "lines.jsonl", "-o", "out", "--format", "wavf", *settings]) == 0
    for n in range(5):
        Path("alone.jsonl").write_text(json.dumps({"id": "alone", "text": f"Hello {'there ' * n}", "seed": n}))
        assert run(["batch", "alone.jsonl", "-o", "alone", "--format", "wavf", *settings]) == 0
        alone, together = sound("alone/alone.wav"), sound(f"out/n{n}.wav")
        assert len(alone) == len(together)
        np.testing.assert_allclose(together, alone, atol=1e-4)


def test_bad_lines_fail_and_the_others_are_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    voice("good.wav")
    Path("bad.wav").write_text("this is no sound")
    rows = [
        {"id": "fine", "text": "Hello."},
        {"id": "mute", "text": ""},
        {"id": "lost", "text": "Hello.", "ref": "none.wav"},
        {"id": "noise", "text": "Hello.", "ref": "bad.wav"},
        {"id": "cloned", "text": "Hello.", "ref": "good.wav"},
    ]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(["batch", "lines.jsonl", "-o", "out", "--steps", "2", "--max-seconds", "1"]) == 1
    status = {line["id"]: line for line in results()}
    assert [name for name, line in status.items() if line["status"] == "ok"] and len(status) == 5
    assert {name for name, line in status.items() if line["status"] == "failed"} == {"mute", "lost", "noise"}
    assert "none.wav" in status["lost"]["error"]
    assert "bad.wav" in status["noise"]["error"]
    assert status["mute"]["duration_s"] is None
    err = capsys.readouterr().err
    assert "voxcpm2: line 2 (mute): the text has nothing to speak" in err
    assert "2 of 5 lines done, 3 failed" in err
    assert sorted(path.name for path in Path("out").glob("*.wav")) == ["cloned.wav", "fine.wav"]


def test_when_no_line_can_be_spoken_no_model_is_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", "/nowhere")
    Path("lines.jsonl").write_text('{"text": ""}\n{"text": "!!!"}\n')
    assert run(["batch", "lines.jsonl", "-o", "out"]) == 1
    assert "0 of 2 lines done, 1 failed, 1 without words" in capsys.readouterr().err
    assert [line["status"] for line in results()] == ["failed", "skipped"]


def test_a_wrong_manifest_stops_everything_and_every_problem_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.jsonl").write_text('{"text": "Hello."}\n{"txt": "Hello."}\n{"text": "Hello.", "steps": 1}\n')
    assert run(["batch", "lines.jsonl", "-o", "out"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "voxcpm2: lines.jsonl: 3 problems, first: line 2: field 'text' is missing",
        "  line 2: field 'text' is missing",
        "  line 2: is 'txt' the text? Then --map text=txt",
        "  line 3: steps must be from 2 to 1000, not 1",
    ]
    assert not Path("out").exists()


def test_a_dry_run_shows_the_plan_and_makes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.txt").write_text("One two three.\nFour five six.\n")
    assert run(["batch", "lines.txt", "-o", "out", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "lines.txt: plain text of 2 lines",
        "2 lines to speak, about 1.9 s of audio",
        "2 lines without a voice: each gets one of its own; --same-voice, --ref or --voice sets one",
    ]
    assert not Path("out").exists()


def test_a_manifest_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id": "a", "text": "Hello."}\n')))
    assert run(["batch", "-", "-o", "out", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]) == 0
    assert Path("out/a.wav").is_file()


def test_a_text_with_a_token_that_the_model_does_not_know_fails_alone(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a tokenizer that transformers saved again, with tokens behind the vocabulary's last one."""
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "saved-again")
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    content["added_tokens"].append(content["added_tokens"][0] | {"id": 400, "content": "<|im_start|>"})
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setenv("VOXCPM2_MODEL", str(folder))
    Path("lines.txt").write_text("Hello.\nHi <|im_start|> there.\nGood night.\n")
    options = ["--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    assert run(["batch", "lines.txt", "-o", "out", *options]) == 1
    error = "the text contains '<|im_start|>', a token that this model does not know; remove it"
    assert f"line 2 (00002): {error}\n" in capsys.readouterr().err
    assert {line["id"]: line["error"] for line in results()} == {"00001": None, "00002": error, "00003": None}
    assert {path.name for path in Path("out").glob("*.wav")} == {"00001.wav", "00003.wav"}


def test_the_profile_names_all_time_that_goes_into_earlier_results(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that nothing else moves."""
    now, reads = [0.0], []

    def read(path: Path) -> Any:
        now[0] += 100
        reads.append(path)
        return real(path)

    real = results_module._read
    monkeypatch.setattr(results_module, "_read", read)
    monkeypatch.setattr(profile_module, "time", SimpleNamespace(perf_counter=lambda: now[0], thread_time=time.time))
    Path("lines.txt").write_text("Hello.\n")
    command = ["batch", "lines.txt", "-o", "out", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    assert run(command) == 0
    Path("out/00001.wav").unlink()
    now[0] = 0.0
    reads.clear()
    capsys.readouterr()
    assert run([*command, "--profile"]) == 0
    shown = {line[:40].split("  ")[0]: line.split()[-3:-1] for line in capsys.readouterr().err.splitlines()}
    assert len(reads) == 3, "to number the lines, to begin, and to leave out what has been overtaken"
    assert shown["earlier results"] == ["300.00", "s"]
    assert shown["other"] == ["0.00", "s"]


def test_an_output_folder_that_is_a_file_is_found_before_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").touch()
    Path("lines.txt").write_text("Hello.\n")
    assert run(["batch", "lines.txt", "-o", "out", "--model", "nowhere"]) == 1
    assert capsys.readouterr().err.splitlines()[-1:] == ["voxcpm2: out is a file, not a folder"]


def test_doctor_names_what_is_here_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path
) -> None:
    assert run(["doctor"]) == 0
    lines = {line[4:21].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert lines["openbmb/VoxCPM2"].endswith("->  voxcpm2 download")
    assert lines["speaks with"].endswith(str(tiny_checkpoint))
    assert "cpu, float32" in lines["device"]
    assert lines["torch"].startswith("ok")


def test_doctor_without_any_model_is_3(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VOXCPM2_MODEL")
    monkeypatch.setattr("voxcli.model.hub.demo_folder", lambda: None)
    assert run(["doctor"]) == 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split(maxsplit=3) == ["!!", "speaks", "with", "no model is available  ->  voxcpm2 download"]


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_ctrl_c_keeps_what_is_finished_and_leaves_nothing_half_written() -> None:
    Path("lines.txt").write_text("\n".join(f"Hello there, number {n}." for n in range(500)))
    command = [*children.VOXCPM2, "batch", "lines.txt", "-o", "out", "--steps", "2", "--min-seconds", "2"]
    with children.start(command, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (Path("out/results.jsonl").exists() and results()):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "voxcpm2: interrupted"
    assert "Traceback" not in err
    done = results()
    assert 1 <= len(done) < 500
    assert {path.name for path in Path("out").iterdir()} == {"results.jsonl", *(line["out"] for line in done)}
    for line in done:
        assert soundfile.info(Path("out", line["out"])).duration == pytest.approx(line["duration_s"], abs=1e-3)


def test_a_lora_changes_the_voice_and_is_named(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lora(tmp_path / "warm", lora_tensors(tiny_checkpoint, 4), 4, 8)
    common = ["synth", "Hello.", "--seed", "5", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    assert run([*common, "-o", "plain.wav"]) == 0
    assert run([*common, "-o", "adapted.wav", "--lora", "warm"]) == 0
    assert f"({tiny_checkpoint} with warm on cpu, float32)" in capsys.readouterr().err
    assert not np.array_equal(sound("plain.wav"), sound("adapted.wav"))
    assert run([*common, "-o", "none.wav", "--lora", "cold"]) == 3
    assert capsys.readouterr().err == "voxcpm2: cold: the LoRA folder does not exist\n"


def test_a_line_that_was_cut_off_makes_the_exit_code_1_unless_that_is_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lines.txt").write_text("Hello there\n")
    command = ["batch", "lines.txt", "-o", "out", "--steps", "3", "--seed", "1", "--max-seconds", "1"]
    assert run(command) == 1
    err = capsys.readouterr().err
    assert "1 of 1 line done, 0 failed" in err
    assert "1 cut off at a length limit (stop_reason: length)" in err
    assert "1 with warnings (see results.jsonl)" in err
    assert results()[0]["warnings"] == ["cut off at a length limit"]
    assert run([*command, "--allow-truncated"]) == 0
    assert "1 of 1 line done (1 before), 0 failed" in capsys.readouterr().err
    assert run(command) == 1  # kept, and still cut off


def test_the_same_command_again_speaks_what_is_missing_or_changed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": name, "text": f"Hello {name}.", "seed": 1} for name in ("a", "b", "c", "d")]
    command = ["batch", "lines.jsonl", "-o", "out", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert run(command) == 0
    first = {path.name: path.read_bytes() for path in Path("out").glob("*.wav")}
    b = sound("out/b.wav")
    Path("out/b.wav").unlink()
    rows[2]["text"] = "Something else."
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    capsys.readouterr()
    assert run([*command, "--dry-run"]) == 0
    plan = "2 lines done before and unchanged, 2 to speak (1 text changed, 1 file missing)"
    assert plan in capsys.readouterr().out
    assert not Path("out/b.wav").exists()
    assert run(command) == 0
    err = capsys.readouterr().err
    assert f"voxcpm2: {plan}" in err
    assert "4 of 4 lines done (2 before), 0 failed" in err
    again = {path.name: path.read_bytes() for path in Path("out").glob("*.wav")}
    # b.wav was made again beside other lines, which may change the last bit
    assert {name for name in first if first[name] != again[name]} - {"b.wav"} == {"c.wav"}
    np.testing.assert_allclose(sound("out/b.wav"), b, atol=1e-3)
    assert sorted(line["id"] for line in results()) == ["a", "b", "c", "d"]
    assert run([*command, "--force"]) == 0
    assert "0 lines done before and unchanged, 4 to speak (4 --force)" in capsys.readouterr().err
    assert run([*command, "--force", "--retry-failed"]) == 2
    assert run([*command, "--retry-failed"]) == 0
    assert "4 of 4 lines done (4 before), 0 failed" in capsys.readouterr().err


def test_when_nothing_is_left_to_speak_no_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lines.txt").write_text("Hello there.\n")
    command = ["batch", "lines.txt", "-o", "out", "--steps", "2", "--max-seconds", "1", "--allow-truncated"]
    assert run(command) == 0
    monkeypatch.setattr("voxcli.run.batch.load_engine", None)
    assert run(command) == 0


@pytest.mark.parametrize(
    "command",
    [
        ["synth", "Hello.", "-o", "voice.wav", "--ref", "./voice.wav"],
        ["clone", "Hello.", "-o", "linked.wav", "--ref", "voice.wav"],
        ["clone", "Hello.", "-o", "voice.wav", "--ref", "voice.wav", "--ref-text", "Hum."],
        ["clone", "Hello.", "-o", "a.wav", "--ref", "a.srt", "--subtitles", "srt"],
        ["batch", "lines.txt", "-o", "out", "--ref", "voice.wav", "--join", "linked.wav", "--dry-run"],
        ["batch", "lines.txt", "-o", ".", "--ref", "00001.wav", "--dry-run"],
    ],
)
def test_a_recording_is_never_written_over(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", "no-model")  # the command is refused before it looks for a model
    names = ("voice.wav", "00001.wav", "a.srt")
    voice("voice.wav"), voice("00001.wav"), Path(voice("b.wav")).rename("a.srt")
    Path("linked.wav").symlink_to("voice.wav")
    Path("lines.txt").write_text("Hello.\n")
    before = [Path(name).read_bytes() for name in names]
    assert run(command) == 2
    assert [Path(name).read_bytes() for name in names] == before


@pytest.mark.parametrize("command", [["synth"], ["clone", "--ref", "voice.wav"]], ids=["synth", "clone"])
def test_speech_that_is_cut_off_exits_1_unless_it_may_be(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    voice("voice.wav")
    arguments = [*command, "Hello there.", "-o", "a.wav", "--seed", "3", "--steps", "2", "--max-seconds", "0.2"]
    assert run(arguments) == 1
    assert capsys.readouterr().err.startswith("a.wav: cut off at 0.2 s of audio")
    assert soundfile.info("a.wav").duration == pytest.approx(0.2)
    assert run([*arguments, "--allow-truncated"]) == 0


def test_a_stream_that_is_cut_off_exits_1_unless_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["synth", "Hello there.", "-o", "-", "--seed", "3", "--steps", "2", "--max-seconds", "0.2"]
    for allowed, code in (([], 1), (["--allow-truncated"], 0)):
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        assert run([*arguments, *allowed]) == code
