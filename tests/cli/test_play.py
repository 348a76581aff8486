"""`synth` without a file, and `--play` with a player that keeps what it hears."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.cli.main import run

FAST = ["--steps", "2", "--max-seconds", "0.8", "--seed", "5", "--allow-truncated"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the player is a shell script")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("voxcli.audio.player.find_spec", lambda name: None)


def player(script: str, name: str = "aplay") -> None:
    path = Path("bin", name)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def heard() -> tuple[np.ndarray, int]:
    """The samples that the player got: the header of a stream has no length."""
    data = Path("heard").read_bytes()
    return np.frombuffer(data[44:], "<i2"), int.from_bytes(data[24:28], "little")


def test_without_a_name_the_next_free_one_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    for options, name in (
        ([], "speech.wav"),
        ([], "speech-2.wav"),
        (["--format", "flac"], "speech.flac"),
        (["--subtitles", "srt"], "speech-3.wav"),
    ):
        assert run(["synth", "Hello.", *options, *FAST]) == 0
        assert capsys.readouterr().err.splitlines()[-1].startswith(f"{name}: ")
        assert soundfile.info(name).duration > 0
    assert Path("speech-3.srt").exists()
    Path("speech-4.srt").write_text("mine")
    assert run(["synth", "Hello.", "--subtitles", "srt", *FAST]) == 0
    assert Path("speech-5.wav").exists() and Path("speech-4.srt").read_text() == "mine"


def test_the_speech_is_heard_while_it_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    player("exec /bin/cat > heard")
    assert run(["synth", "Hello there. And on.", "--play", *FAST]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith("the player (WAV, ")
    assert run(["synth", "Hello there. And on.", "-o", "a.wav", *FAST]) == 0
    samples, rate = heard()
    expected, expected_rate = soundfile.read("a.wav", dtype="int16")
    assert rate == expected_rate and np.array_equal(samples, expected)
    assert not list(Path().glob("speech*"))


def test_a_file_is_played_once_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    player("exec /bin/cat > heard", "ffplay")
    player("exit 1")
    assert run(["synth", "Hello.", "-o", "a.flac", "--play", "--level", "-20", *FAST]) == 0
    samples, rate = heard()
    assert (
        np.array_equal(samples, soundfile.read("a.flac", dtype="int16")[0])
        and rate == soundfile.info("a.flac").samplerate
    )
    assert capsys.readouterr().err.splitlines()[-1].startswith("a.flac: ")


def test_a_player_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    player("/bin/cat > /dev/null; exit 3")
    assert run(["synth", "Hello.", "--play", *FAST]) == 1
    expected = "voxcpm2: the player aplay ended with code 3: nothing may have been heard"
    assert capsys.readouterr().err.splitlines()[-1] == expected
    player("exit 0")
    assert run(["synth", "Hello there, all of you. " * 9, "--play", "--steps", "2", "--seed", "5"]) in (0, 1)
    err = capsys.readouterr().err
    assert "Traceback" not in err and ("the player was closed after" in err or "the player (WAV, " in err)


def test_without_a_player_one_line_names_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("voxcli.engine.load.resolve_model", lambda *_: pytest.fail("a model was looked for"))
    for options in ([], ["-o", "a.wav"]):
        assert run(["synth", "Hello.", "--play", *options]) == 2
        expected = "no player found (ffplay, mpv, play, aplay): install one of them, or `pip install sounddevice`"
        assert capsys.readouterr().err == f"voxcpm2: --play: {expected}\n"
    player("exec /bin/cat > heard")
    assert run(["synth", "Hello.", "--play", "-o", "-"]) == 2
    assert "--play and -o - exclude each other" in capsys.readouterr().err


def test_sounddevice_gets_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    from voxcli.audio.player import play_file

    calls: list[object] = []

    class OutputStream:
        def __init__(self, **options: object):
            calls.append(options)

        def start(self) -> None:
            calls.append("start")

        def write(self, samples: np.ndarray) -> None:
            calls.append(samples[:, 0].tolist())

        def stop(self) -> None:
            calls.append("stop")

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setitem(sys.modules, "sounddevice", types.SimpleNamespace(OutputStream=OutputStream))  # type: ignore[arg-type]
    file = io.BytesIO()
    soundfile.write(file, np.array([1, -2, 3], np.int16), 12_000, format="WAV")
    Path("a.wav").write_bytes(file.getvalue())
    play_file(Path("a.wav"))
    options = {"samplerate": 12_000, "channels": 1, "dtype": "int16"}
    assert calls == [options, "start", [1, -2, 3], "stop", "close"]
