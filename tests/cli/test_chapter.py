"""A chapter as one WAV with subtitles: all words in order, at the times of their audio, and no click at a joint."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import soundfile

from tests.prose import chapter
from voxcli.inputs.manifest import LineDefaults, read_manifest
from voxcli.jobs.plan import make_plan
from voxcli.jobs.settings import DEFAULTS, PAUSE_AFTER, Settings
from voxcli.model.hub import demo_folder
from voxcli.text.clean import clean

TIMES = re.compile(r"(\d+):(\d\d):(\d\d),(\d{3}) --> (\d+):(\d\d):(\d\d),(\d{3})")
AROUND_S = 0.002  # window around a joint, larger than the rounding of cue times
FAR_S = 0.02


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(repository))


def speak(words: int, *options: str) -> str:
    """The stderr of the command."""
    Path("chapter.txt").write_text("\n\n".join(chapter(words, seed=1)) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "voxcli", "batch", "chapter.txt", "-o", "parts", "--seed", "7"]
    command += ["--join", "chapter.wav", "--subtitles", "srt", "--allow-truncated", "--profile", *options]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


class Subtitle(NamedTuple):
    start: float
    end: float
    text: str


def subtitles(path: str) -> list[Subtitle]:
    found = []
    for number, block in enumerate(Path(path).read_text(encoding="utf-8").strip().split("\n\n"), 1):
        index, times, *lines = block.split("\n")
        assert int(index) == number
        match = TIMES.fullmatch(times)
        assert match is not None
        values = [int(part) for part in match.groups()]
        start, end = (h * 3600 + m * 60 + s + ms / 1000 for h, m, s, ms in (values[:4], values[4:]))
        found.append(Subtitle(start, end, " ".join(lines)))
    return found


class Clicks(NamedTuple):
    """Absolute differences of neighbouring samples (full scale 1): the maximum near joints, and quantiles elsewhere."""

    joins: int
    at_joins: float
    median: float
    p999: float  # 99.9 % are below it


def clicks(samples: np.ndarray, rate: int, joins: list[float]) -> Clicks:
    steps = np.abs(np.diff(samples))
    near, elsewhere = np.zeros(len(steps), bool), np.ones(len(steps), bool)
    for join_s in joins:
        place = round(join_s * rate)
        near[max(0, place - round(AROUND_S * rate)) : place + round(AROUND_S * rate)] = True
        elsewhere[max(0, place - round(FAR_S * rate)) : place + round(FAR_S * rate)] = False
    heard = steps[elsewhere & (steps > 0)]
    return Clicks(len(joins), float(steps[near].max()), float(np.median(heard)), float(np.quantile(heard, 0.999)))


def check(max_chars: int = DEFAULTS.max_chars) -> Clicks:
    """Compare chapter.wav and chapter.srt with the results of the lines, read independently of the package."""
    lines = Path("parts/results.jsonl").read_text(encoding="utf-8").splitlines()
    results = {result["id"]: result for result in map(json.loads, lines)}
    plan = make_plan(read_manifest("chapter.txt", Path("parts"), LineDefaults(Settings(max_chars=max_chars))).jobs)
    order = sorted(plan.utterances, key=lambda utterance: utterance.job.line)
    samples, rate = soundfile.read("chapter.wav", dtype="float32")

    at, joins, words = 0.0, [], []
    for utterance in order:
        result = results[utterance.job.id]
        joins += [at + edge for start, end, _ in result["cues"] for edge in (start, end)]
        at += result["duration_s"] + PAUSE_AFTER
        words += clean(utterance.job.text).split()
    assert len(samples) / rate == pytest.approx(at - PAUSE_AFTER, abs=1e-4 * len(order))

    shown = subtitles("chapter.srt")
    assert [word for subtitle in shown for word in subtitle.text.split()] == words
    assert all(subtitle.start < subtitle.end for subtitle in shown)
    assert all(first.end <= second.start for first, second in pairwise(shown))
    assert shown[-1].end <= len(samples) / rate + 1e-3
    edges = np.array(joins)
    starts = [subtitle.start for subtitle in shown if np.abs(edges - subtitle.start).min() < 2e-3]
    assert len(starts) >= len(joins) // 2, "every segment begins with its own subtitle"
    return clicks(samples, rate, joins)


def test_a_chapter_becomes_one_file_with_its_words_at_their_times_and_no_click(
    brief_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    err = speak(150, "--steps", "2", "--max-chars", "120")
    assert "without the model" in err
    found = check(max_chars=120)
    assert found.joins > 8
    assert found.at_joins <= found.median


@pytest.mark.slow
@pytest.mark.book
def test_twenty_thousand_words_of_the_demo_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pytest -m book -s` prints times and memory.

    VOXCPM2_BOOK_WORDS: number of words (20,000). VOXCPM2_BOOK_OPTIONS: further options, such as `--workers 2`.
    """
    model = os.environ.get("VOXCPM2_BOOK_MODEL") or demo_folder()
    if model is None:
        pytest.skip("the demo voice is not here")
    monkeypatch.setenv("VOXCPM2_MODEL", str(model))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    words = int(os.environ.get("VOXCPM2_BOOK_WORDS", "20000"))
    began = time.monotonic()
    err = speak(words, *os.environ.get("VOXCPM2_BOOK_OPTIONS", "").split())
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{words} words, {time.monotonic() - began:.0f} s, at most {largest:.2f} GiB of memory:\n{err}")
    found = check()
    print(found)
    assert found.at_joins <= found.median
    assert largest < 2
