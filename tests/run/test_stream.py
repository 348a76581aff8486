from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import soundfile

from voxcli.audio.join import FADE_S
from voxcli.audio.wavstream import wav_header, write_stream
from voxcli.audio.write import write_audio
from voxcli.cli.main import run
from voxcli.engine.engine import Engine
from voxcli.errors import OutputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import prepare
from voxcli.jobs.settings import Settings
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model
from voxcli.run.stream import Stream
from voxcli.text.split import SENTENCE_PAUSE_S

ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
TEXT = "Hello there. And so it goes on."


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> VoxCPM2:
    return load_model(tiny_checkpoint, device="cpu")


def stream(model: VoxCPM2, text: str = TEXT, **settings: Any) -> Stream:
    values = {"seed": 3, "steps": 2, "min_seconds": 1.0, "max_seconds": 2.0, **settings}
    utterance = prepare(Job("-", text, Path("-"), settings=Settings(**values)))
    return Stream(Engine(model), utterance, notify=pytest.fail)


def test_the_first_sound_goes_out_with_the_first_patch(model: VoxCPM2) -> None:
    sound = stream(model)
    first = next(iter(sound))
    assert len(first) == model.patch_samples
    assert sound.engine.counters.steps == 1
    segments = stream(model, max_chars=20)
    fade = round(FADE_S * model.sample_rate)  # held back in case the segment ends here
    assert len(next(iter(segments))) == model.patch_samples - fade
    assert segments.engine.counters.steps == 1


def test_what_is_streamed_is_what_a_file_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    common = ["synth", TEXT, "--seed", "3", "--steps", "3", "--max-seconds", "2", "--model", str(tiny_checkpoint)]
    assert run([*common, "-o", "a.wav"]) == 0
    command = [sys.executable, "-m", "voxcli", *common, "-o", "-"]
    made = subprocess.run(command, capture_output=True, check=True, env=ENV)
    raw = subprocess.run([*command, "--raw"], capture_output=True, check=True, env=ENV)
    samples, rate = soundfile.read(io.BytesIO(made.stdout), dtype="int16")
    whole, _ = soundfile.read("a.wav", dtype="int16")
    assert rate == 24_000
    assert np.abs(samples.astype(int) - whole).max() <= 4  # 1e-4
    assert made.stdout == wav_header(24_000) + raw.stdout
    assert b"stdout (WAV, 24000 Hz): " in made.stderr and b", seed 3 (" in made.stderr
    assert b"raw, 16 bit little endian, 24000 Hz, mono" in raw.stderr
    assert list(Path().iterdir()) == [Path("a.wav")]


def test_the_same_sound_has_the_same_steps_in_a_file_and_in_a_stream(tmp_path: Path) -> None:
    sound = np.random.default_rng(0).uniform(-1.1, 1.1, 50_000).astype(np.float32)

    class Sound(list[np.ndarray]):
        rate, cut_off, seed = 24_000, False, 1

    sink = io.BytesIO()
    write_stream(cast(Stream, Sound(np.array_split(sound, 7))), sink, raw=True)
    for format in ("wav", "flac"):
        write_audio(tmp_path / "a", sound, 24_000, format=format)
        assert soundfile.read(tmp_path / "a", dtype="int16")[0].tobytes() == sink.getvalue()


def test_pieces_are_joined_with_their_pauses_and_faded(model: VoxCPM2) -> None:
    sound = stream(model, max_chars=20, max_seconds=None)
    samples = np.concatenate(list(sound))
    first, second = (sound.running.clips[index].audio for index in range(2))
    assert first is not None and second is not None
    pause = round(SENTENCE_PAUSE_S * model.sample_rate)
    assert len(samples) == len(first) + pause + len(second)
    fade = round(FADE_S * model.sample_rate)
    assert np.array_equal(samples[fade : len(first) - fade], first[fade:-fade])
    assert not samples[len(first) : len(first) + pause].any()
    assert samples[0] == samples[-1] == 0.0
    # the first segment is the reference of the second, as in a file
    assert len(sound.running.request(1, model, sound._voices).prompt.patches) == sound.running.clips[0].patches


def test_pauses_are_silence_of_exactly_their_length(model: VoxCPM2) -> None:
    sound = stream(model, "[pause 0.3s] Hello. [pause 1.25s] So. [pause 10ms]", max_seconds=None)
    samples = np.concatenate(list(sound))
    lengths = [0.3, 1.25, 0.01]
    lead, between, after = (round(seconds * model.sample_rate) for seconds in lengths)
    first, second = (sound.running.clips[index].audio for index in range(2))
    assert first is not None and second is not None
    assert len(samples) == lead + len(first) + between + len(second) + after
    assert not samples[:lead].any()
    assert not samples[lead + len(first) : lead + len(first) + between].any()
    assert not samples[-after:].any()
    assert samples[lead + len(first) // 2] == first[len(first) // 2]


def test_max_seconds_and_the_rate_hold(model: VoxCPM2) -> None:
    for rate in (None, 16_000):
        sound = stream(model, max_chars=20, sample_rate=rate, max_seconds=1.5)
        samples = np.concatenate(list(sound))
        assert len(samples) == pytest.approx(1.5 * (rate or model.sample_rate), abs=1)
        assert sound.cut_off
    assert sound.rate == 16_000
    sink = io.BytesIO()
    assert "cut off at 1.5 s of audio in " in write_stream(stream(model, max_chars=20, max_seconds=1.5), sink, raw=True)
    assert len(sink.getvalue()) == 2 * 1.5 * model.sample_rate


@pytest.mark.parametrize("shortest", [0.3, 1.0, 1.23])
@pytest.mark.parametrize("room", [0.001, 0.05, 0.2])
@pytest.mark.parametrize("chars", [20, 240])
def test_sound_is_as_long_as_was_asked_for_however_narrow_that_is(
    model: VoxCPM2, shortest: float, room: float, chars: int
) -> None:
    """Even if no whole number of patches lies between min_seconds and max_seconds."""
    sound = stream(model, min_seconds=shortest, max_seconds=shortest + room, max_chars=chars)
    samples = sum(map(len, sound))
    assert round(shortest * model.sample_rate) <= samples <= round((shortest + room) * model.sample_rate)


def test_a_reader_that_goes_away_is_reported_in_one_line(model: VoxCPM2) -> None:
    class Closed(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 10_000:
                raise BrokenPipeError(32, "Broken pipe")
            return super().write(data)

    sound = stream(model)
    with pytest.raises(OutputError, match=r"^stdout was closed after 0\.\d s of audio$"):
        write_stream(sound, Closed(), raw=False)


def test_a_full_disk_is_reported_as_such(model: VoxCPM2) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError) as caught:
        write_stream(stream(model), Full(), raw=True)
    assert str(caught.value) == "stdout can't be written after 0.0 s of audio (No space left on device)"


def test_a_player_that_is_closed_ends_the_command_with_one_line(tmp_path: Path, tiny_checkpoint: Path) -> None:
    command = [sys.executable, "-m", "voxcli", "synth", "Hello there. " * 30, "-o", "-", "--steps", "2"]
    with subprocess.Popen(
        [*command, "--model", str(tiny_checkpoint)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=ENV,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(4) == b"RIFF"
        process.stdout.close()
        (message,) = process.stderr.read().decode().splitlines()
    assert process.returncode == 1
    assert message.startswith("voxcpm2: stdout was closed after ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "-", "--subtitles", "srt"], "--subtitles needs an audio file"),
        (["-o", "-", "--level", "-20"], "--level needs the whole audio"),
        (["-o", "-", "--loudness", "-23"], "--loudness needs the whole audio"),
        (["-o", "a.wav", "--raw"], "--raw needs -o -"),
    ],
)
def test_options_that_do_not_go_together(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["synth", "Hello.", *options, "--model", "nowhere"]) == 2
    shown = capsys.readouterr()
    assert message in shown.err and shown.out == ""
