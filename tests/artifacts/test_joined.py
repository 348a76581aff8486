from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.artifacts.joined import BLOCK, Track, write_joined
from voxcli.audio.join import FADE_S, faded
from voxcli.audio.loudness import LoudnessMeter
from voxcli.errors import OutputError
from voxcli.files.write import TEMPORARY
from voxcli.jobs.result import Cue

RATE = 24_000
FADE = round(FADE_S * RATE)


def tone(seconds: float, rate: int = RATE, level: float = 0.5) -> np.ndarray:
    """Return a cosine, which is loud at its edges, so that a cut there clicks."""
    return (level * np.cos(2 * np.pi * 100 * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def file(path: Path, samples: np.ndarray, rate: int = RATE) -> Path:
    soundfile.write(path, samples, rate, subtype="FLOAT" if path.suffix == ".wav" else None)
    return path


def test_parts_are_in_order_with_their_pauses_and_cues(tmp_path: Path) -> None:
    parts = [
        Track(file(tmp_path / "a.wav", tone(1.0)), 0.5, [Cue(0.0, 1.0, "One.")]),
        Track(file(tmp_path / "b.wav", tone(0.25, level=0.25)), 0.0, [Cue(0.1, 0.2, "Two.")]),
        Track(file(tmp_path / "c.wav", tone(0.5)), 9.0, [Cue(0.0, 0.5, "Three.")]),
    ]
    whole = write_joined(tmp_path / "all.wav", parts, format="wavf")
    samples, rate = soundfile.read(tmp_path / "all.wav", dtype="float32")
    assert rate == RATE
    assert whole.duration_s == len(samples) / RATE == 2.25  # no pause after the last file
    assert whole.cues == [Cue(0.0, 1.0, "One."), Cue(1.6, 1.7, "Two."), Cue(1.75, 2.25, "Three.")]
    inside = slice(FADE, RATE - FADE)
    assert np.array_equal(samples[inside], tone(1.0)[inside])
    assert not samples[RATE : RATE * 3 // 2].any()
    assert np.array_equal(samples[36_000 + FADE : 42_000 - FADE], tone(0.25, level=0.25)[FADE:-FADE])


def test_no_click_between_parts(tmp_path: Path) -> None:
    """Files with loud edges are joined without a pause: the step there is no larger than elsewhere."""
    parts = [Track(file(tmp_path / f"{n}.wav", tone(0.3, level=0.9)), 0.0) for n in range(4)]
    write_joined(tmp_path / "all.wav", parts, format="wav")
    steps = np.abs(np.diff(soundfile.read(tmp_path / "all.wav")[0]))
    inside = np.abs(np.diff(tone(0.3, level=0.9))).max()
    borders = [round(n * 0.3 * RATE) for n in range(1, 4)]
    assert max(steps[border - 3 : border + 3].max() for border in borders) < 0.1 * inside
    assert steps.max() <= 1.05 * inside


def test_the_whole_has_the_loudness_asked_for(tmp_path: Path) -> None:
    quiet, loud = tone(2.0, level=0.02), tone(1.0, rate=16_000, level=0.4)
    cues = [Cue(0.0, 1.0, "One.")]
    parts = [
        Track(file(tmp_path / "a.wav", quiet), 0.5, cues),
        Track(file(tmp_path / "b.wav", loud, 16_000), 0.0, cues),
    ]
    write_joined(tmp_path / "plain.wav", parts, format="wavf")
    whole = write_joined(tmp_path / "all.wav", parts, format="wavf", loudness=-23.0)
    plain, samples = (soundfile.read(tmp_path / name, dtype="float32")[0] for name in ("plain.wav", "all.wav"))
    meter = LoudnessMeter(RATE)
    meter.add(samples)
    assert meter.integrated() == pytest.approx(-23.0, abs=1e-3)
    assert (whole.duration_s, whole.quieter, whole.cues[1]) == (3.5, 0.0, Cue(2.5, 3.5, "One."))
    gain = samples[1000] / plain[1000]
    assert gain != 1 and np.allclose(samples, plain * gain, atol=1e-7)
    limited = write_joined(tmp_path / "all.wav", parts, format="wavf", loudness=-5.0)
    assert limited.quieter > 1
    assert np.abs(soundfile.read(tmp_path / "all.wav")[0]).max() == pytest.approx(10 ** (-1 / 20), abs=1e-3)


@pytest.mark.parametrize("length", [0, 1, 2, FADE - 1, FADE, 2 * FADE - 1, 2 * FADE, 2 * FADE + 1, 3000])
@pytest.mark.parametrize("block", [1, 7, FADE, 1000, 5000])
def test_fading_does_not_depend_on_the_blocks(length: int, block: int) -> None:
    samples = np.ones(length, np.float32)
    sound = np.concatenate(list(faded(np.split(samples, range(block, length, block)), FADE)))
    whole = np.concatenate(list(faded([samples], FADE)))
    assert np.array_equal(sound, whole)
    assert len(sound) == length
    assert np.array_equal(sound, sound[::-1])
    if length > 1:
        assert sound[0] == sound[-1] == 0.0
    assert np.array_equal(sound[FADE : length - FADE], samples[FADE : length - FADE])


def test_another_rate_is_resampled_without_losing_time(tmp_path: Path) -> None:
    parts = [
        Track(file(tmp_path / "a.wav", tone(1.0)), 0.0),
        Track(file(tmp_path / "b.flac", tone(2.0, rate=44_100), 44_100), 0.0, [Cue(0.0, 2.0, "Two.")]),
        Track(file(tmp_path / "c.wav", tone(1.0, level=0.25)), 0.0, [Cue(0.0, 1.0, "Three.")]),
    ]
    whole = write_joined(tmp_path / "all.flac", parts, format="flac")
    samples, rate = soundfile.read(tmp_path / "all.flac")
    assert rate == RATE
    assert whole.duration_s == pytest.approx(4.0, abs=2 / RATE)
    assert whole.cues[1].start == pytest.approx(3.0, abs=2 / RATE)
    assert samples[RATE * 3 // 2 : RATE * 5 // 2] == pytest.approx(tone(1.0), abs=0.003)


def test_hours_are_not_held_in_memory(tmp_path: Path) -> None:
    hour = file(tmp_path / "a.flac", np.zeros(600 * RATE, np.float32))
    parts = [Track(hour, 600.0)] * 6
    tracemalloc.start()
    try:
        whole = write_joined(tmp_path / "all.flac", parts, format="flac")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert whole.duration_s == 600 * 11
    assert peak < 12 * 4 * BLOCK  # bytes: a few blocks of float32; the whole file is 634 MB


@pytest.mark.parametrize("format", ["ogg", "wavf"])
def test_the_same_parts_give_the_same_bytes(tmp_path: Path, format: str) -> None:
    parts = [Track(file(tmp_path / "a.wav", tone(0.5)), 0.1), Track(file(tmp_path / "b.wav", tone(0.5)), 0.0)]
    made = []
    for second in range(2):
        time.sleep(1.1 * second)  # a float WAV would contain the second in which it was written
        write_joined(tmp_path / "all", parts, format=format)
        made.append((tmp_path / "all").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("damage", ["gone", "text"])
def test_an_unreadable_part_leaves_the_earlier_file(tmp_path: Path, damage: str) -> None:
    good, bad = file(tmp_path / "a.wav", tone(0.5)), file(tmp_path / "b.wav", tone(0.5))
    write_joined(tmp_path / "all.wav", [Track(good, 0.0), Track(bad, 0.0)], format="wav")
    before = (tmp_path / "all.wav").read_bytes()
    if damage == "gone":
        bad.unlink()
    else:
        bad.write_text("not sound")
    with pytest.raises(OutputError, match=r"b\.wav can't be read for joining; rerun with --force"):
        write_joined(tmp_path / "all.wav", [Track(good, 0.0), Track(bad, 0.0)], format="wav")
    assert (tmp_path / "all.wav").read_bytes() == before
    assert not list(tmp_path.glob(TEMPORARY))
