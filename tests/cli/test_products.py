"""Subtitles, the joined file and the report, from the command line through the real engine with a tiny checkpoint."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
import soundfile

from voxcli.audio.loudness import LoudnessMeter
from voxcli.cli.main import run
from voxcli.files.write import TEMPORARY

FAST = ["--steps", "2", "--max-seconds", "1.5", "--seed", "3", "--allow-truncated"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    return tmp_path


def test_a_batch_becomes_a_book_with_subtitles_and_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "z", "text": "One. Two. Three.", "pause_after": 0.25},
        {"id": "a", "text": "(a warm voice)Four.", "pause_after": 0},
        {"id": "m", "text": "Five.", "out": "deep/five.flac"},
    ]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["batch", "lines.jsonl", "-o", "out", *FAST, "--max-chars", "20"]
    command += ["--join", "book.wav", "--subtitles", "srt", "--report", "report.html"]
    assert run(command) in (0, 1)  # 1: the tiny model hits the length limit
    err = capsys.readouterr().err
    files = [Path("out/z.wav"), Path("out/a.wav"), Path("out/deep/five.flac")]
    lengths = [soundfile.info(path).duration for path in files]
    book = soundfile.info("book.wav")
    assert book.duration == pytest.approx(sum(lengths) + 0.25, abs=1e-3)
    assert all(path.with_suffix(".srt").is_file() for path in files)
    blocks = [block.split("\n") for block in Path("book.srt").read_text().strip().split("\n\n")]
    assert [block[2] for block in blocks] == ["One. Two. Three.", "Four.", "Five."]
    assert blocks[1][1].startswith(f"00:00:0{lengths[0] + 0.25:.3f}".replace(".", ","))
    assert '"out/deep/five.flac"' in Path("report.html").read_text()
    assert "book.wav: " in err and "report.html shows all lines" in err

    made = Path("out/z.wav").stat().st_mtime_ns, Path("book.wav").read_bytes()
    Path("book.wav").unlink(), Path("out/a.srt").unlink()
    killed = Path(TEMPORARY.replace("*", "0" * 32))  # a run killed while joining leaves this file
    killed.touch(), os.utime(killed, (1, 1))
    assert run(command) in (0, 1)  # made again from finished files
    assert (Path("out/z.wav").stat().st_mtime_ns, Path("book.wav").read_bytes()) == made
    assert Path("out/a.srt").is_file()
    assert not killed.exists()


def test_what_can_not_be_written_keeps_nothing_else_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lines.jsonl").write_text('{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}')
    Path("out/a.srt").mkdir(parents=True)
    command = ["batch", "lines.jsonl", "-o", "out", *FAST, "--subtitles", "srt", "--report", "report.html"]
    assert run([*command, "--join", "book.wav"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "voxcpm2: out/a.srt: can't be written (Is a directory)"
    assert any(line.startswith("2 of 2 lines done") for line in lines)
    assert all(Path(name).is_file() for name in ("out/b.srt", "book.wav", "book.srt", "report.html"))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_folder_whose_name_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    folder = os.fsdecode(b"o\xff")
    Path("lines.jsonl").write_text('{"id": "a", "text": "One."}')
    command = ["batch", "lines.jsonl", "-o", folder, *FAST, "--report", "report.html", "--join", f"{folder}/book.wav"]
    assert run(command) == 0
    assert Path(folder, "book.wav").is_file() and Path("report.html").is_file()
    assert "unexpected" not in capsys.readouterr().err


def test_synth_writes_subtitles_beside_the_file() -> None:
    assert run(["synth", "Hello there. And on.", "-o", "hello.flac", "--subtitles", "vtt", *FAST]) == 0
    end = soundfile.info("hello.flac").duration
    assert Path("hello.vtt").read_text() == (f"WEBVTT\n\n00:00:00.000 --> 00:00:0{end:.3f}\nHello there. And on.\n")


def test_a_file_has_the_rate_asked_for_and_a_rate_its_format_does_not_know_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["synth", "Hello.", "-o", "a.ogg", "--sample-rate", "16000", "--level", "-20", *FAST]) == 0
    assert soundfile.info("a.ogg").samplerate == 16_000
    assert run(["synth", "Hello.", "-o", "b.ogg", "--sample-rate", "44100", *FAST]) == 2
    assert "format ogg supports the sample rates 8000, 12000, 16000, 24000, 48000, not 44100" in capsys.readouterr().err
    Path("lines.jsonl").write_text('{"text": "Hello.", "format": "ogg"}\n{"text": "Hello."}\n')
    assert run(["batch", "lines.jsonl", "-o", "out", "--sample-rate", "44100"]) == 2
    assert "line 1: format ogg supports" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["ulaw", "alaw"])
def test_files_of_telephones_have_8_khz(format: str) -> None:
    assert run(["synth", "Hello.", "-o", "a.wav", "--format", format, *FAST]) == 0
    info = soundfile.info("a.wav")
    assert (info.subtype, info.samplerate, info.format) == (format.upper(), 8_000, "WAV")
    Path("lines.txt").write_text("Hello.\nAnd on.\n")
    assert run(["batch", "lines.txt", "-o", "out", "--preset", "phone", "--join", "all.wav", *FAST]) == 0
    assert {soundfile.info(path).subtype for path in ("out/00001.wav", "out/00002.wav", "all.wav")} == {"ULAW"}
    assert soundfile.info("all.wav").samplerate == 8_000


def test_files_have_the_bitrate_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {}
    for rate in (16, 160):
        assert run(["synth", "Hello.", "-o", f"{rate}.mp3", "--bitrate", str(rate), *FAST]) == 0
        sizes[rate] = Path(f"{rate}.mp3").stat().st_size / soundfile.info(f"{rate}.mp3").duration
    assert sizes[160] == pytest.approx(10 * sizes[16], rel=0.25)
    capsys.readouterr()
    assert run(["synth", "Hello.", "-o", "a.wav", "--bitrate", "64", *FAST]) == 2
    expected = "voxcpm2: --bitrate needs a format with a bitrate: ogg, opus or mp3, not wav\n"
    assert capsys.readouterr().err == expected and not Path("a.wav").exists()
    Path("lines.jsonl").write_text('{"text": "Hello."}\n{"text": "And on."}\n')
    assert run(["batch", "lines.jsonl", "-o", "out", "--bitrate", "64", *FAST]) == 2
    assert "--bitrate needs a format with a bitrate: set --format " in capsys.readouterr().err
    assert run(["batch", "lines.jsonl", "-o", "out", "--bitrate", "16", "--join", "all.mp3", *FAST]) == 0
    assert Path("all.mp3").stat().st_size / soundfile.info("all.mp3").duration == pytest.approx(2000, rel=0.4)
    capsys.readouterr()
    assert run(["batch", "lines.jsonl", "-o", "out", "--bitrate", "160", "--join", "all.mp3", *FAST]) == 0
    assert "2 lines done before" in capsys.readouterr().err, "the bitrate is not one of the lines' files"
    Path("lines.jsonl").write_text('{"text": "Hello.", "bitrate": 64}\n')
    assert run(["batch", "lines.jsonl", "-o", "out"]) == 2
    assert "line 1: bitrate needs a format with a bitrate: ogg, opus or mp3, not wav" in capsys.readouterr().err


def loudness(path: str) -> float:
    samples, rate = soundfile.read(path, dtype="float32")
    meter = LoudnessMeter(rate)
    meter.add(samples)
    meter.end()
    assert 20 * math.log10(meter.true_peak) < -0.9
    return meter.integrated()


def test_files_and_the_whole_have_the_loudness_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "a", "text": "One."}, {"id": "b", "text": "Two.", "seed": 8}]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))
    common = ["batch", "lines.jsonl", *FAST, "--format", "wav24", "--join"]
    assert run([*common, "all.wav", "-o", "out", "--loudness", "-33"]) == 0
    for path in ("out/a.wav", "out/b.wav", "all.wav"):
        assert loudness(path) == pytest.approx(-33, abs=0.02), path
    capsys.readouterr()
    assert run([*common, "loud.wav", "-o", "loud", "--loudness", "-5"]) == 0
    results = [json.loads(line) for line in Path("loud/results.jsonl").read_text().splitlines()]
    for result in results:
        missing = -5 - loudness(f"loud/{result['out']}")
        expected = f"{missing:.1f} LU below the loudness asked for: its peak allows no more"
        assert missing > 0.5 and expected in result["warnings"]
    assert "loud.wav is " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--subtitles", "ass"], "subtitles are srt, vtt, words or karaoke, not 'ass'"),
        (["--join", "book.doc"], "can't tell the format of 'book.doc'"),
        (["--report", "report.pdf"], "its name must end with .html"),
    ],
)
def test_a_wrong_product_is_refused_before_anything_is_made(
    option: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("lines.txt").write_text("Hello.\n")
    assert run(["batch", "lines.txt", "-o", "out", *option]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
