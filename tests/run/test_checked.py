"""A session with a check speaks doubtful lines again, with the next seeds, and keeps the best take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.run.fakes import RATE, FakeEngine, spoken
from voxcli.check.checker import CheckedClip, ClipText
from voxcli.check.compare import compare
from voxcli.check.heard import HeardWord
from voxcli.check.options import CheckOptions
from voxcli.check.signals import Signals
from voxcli.check.verdict import ClipCheck, Limits
from voxcli.errors import SynthesisError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Result
from voxcli.jobs.settings import Settings
from voxcli.run.session import Session

FINE = Signals(2.0, 0.0, 0.0, 0.0, 0.0, -20.0, -40.0)
TEXT = "The old clock stopped."
RIGHT, BAD, WORSE = "the old clock stopped", "the clock", "the"


@dataclass
class FakeChecker:
    """Hears `heard[text][n]` at the n-th take of a text; the text itself if there is none."""

    heard: dict[str, list[str]] = field(default_factory=dict)
    retries: int = 2
    threads: int = 2
    asked: Counter[str] = field(default_factory=Counter)
    voices: list[Path | None] = field(default_factory=list)

    @property
    def options(self) -> CheckOptions:
        return CheckOptions(retries=self.retries)

    @property
    def limits(self) -> Limits:
        return Limits()

    @property
    def model(self) -> Any:
        return SimpleNamespace(name="fake")

    def check(
        self, samples: np.ndarray, rate: int, text: ClipText, *, voice: Path | None = None, about: str = ""
    ) -> CheckedClip:
        number = self.asked[text.written]
        self.asked[text.written] += 1
        self.voices.append(voice)
        takes = self.heard.get(text.written, [])
        heard = takes[number] if number < len(takes) else text.written
        if heard == "dead":
            raise SynthesisError("the recognizer's process ended twice while it listened")
        words = tuple(HeardWord(0.1 * n, 0.1 * n + 0.1, f" {word}") for n, word in enumerate(heard.split()))
        return CheckedClip(ClipCheck(FINE, compare(text.written, "".join(word.text for word in words))), words)


def speak(
    tmp_path: Path, checker: FakeChecker, *jobs: Job, engine: FakeEngine | None = None, **more: Any
) -> dict[str, Result]:
    plan = make_plan(jobs)
    assert not plan.refused
    session = Session(
        engine or FakeEngine(),  # type: ignore[arg-type]
        plan.utterances,
        tmp_path,
        log=None,
        notify=lambda remark: None,
        **more,
    )
    session.checker = checker  # type: ignore[assignment]
    outcomes = list(session.run())
    assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
    return {outcome.result.id: outcome.result for outcome in outcomes}


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    def make(identity: str = "a", text: str = TEXT, seed: int = 7, **more: Any) -> Job:
        return Job(identity, text, tmp_path / f"{identity}.wav", settings=Settings(seed=seed, **more))

    return make


def test_a_right_line_is_spoken_once(tmp_path: Path, job: Callable[..., Job]) -> None:
    checker = FakeChecker()
    result = speak(tmp_path, checker, job())["a"]
    assert (result.status, result.reason, result.seed, result.attempts) == ("ok", None, 7, 1)
    assert result.check is not None
    assert {name: result.check[name] for name in ("model", "wer", "takes", "first_seed", "seeds", "next_seed")} == {
        "model": "fake", "wer": 0.0, "takes": 1, "first_seed": 7, "seeds": [7], "next_seed": 8,
    }  # fmt: skip


def test_a_doubtful_line_is_spoken_again_with_the_next_seed(tmp_path: Path, job: Callable[..., Job]) -> None:
    engine = FakeEngine()
    result = speak(tmp_path, FakeChecker({TEXT: [BAD, RIGHT]}), job(), engine=engine)["a"]
    assert [request.sampling.seed for request in engine.requests] == [7, 8]
    assert (result.status, result.seed, result.attempts) == ("ok", 8, 2)
    assert result.check is not None
    assert (result.check["takes"], result.check["first_seed"], result.check["seeds"]) == (2, 7, [8])
    assert (tmp_path / "a.wav").exists()


def test_the_best_of_bad_takes_is_kept(tmp_path: Path, job: Callable[..., Job]) -> None:
    result = speak(tmp_path, FakeChecker({TEXT: [WORSE, BAD, WORSE]}), job())["a"]
    assert (result.status, result.seed, result.attempts) == ("doubtful", 8, 3)
    assert result.reason == "words are missing: stopped"
    assert result.check is not None
    assert (result.check["next_seed"], result.check["seeds"]) == (10, [8])


def test_without_retries_a_doubtful_line_is_kept_as_it_is(tmp_path: Path, job: Callable[..., Job]) -> None:
    engine = FakeEngine()
    result = speak(tmp_path, FakeChecker({TEXT: [BAD]}, retries=0), job(), engine=engine)["a"]
    assert len(engine.requests) == 1
    assert result.doubtful


def test_only_the_wrong_segments_of_a_line_with_a_voice_are_spoken_again(
    tmp_path: Path, job: Callable[..., Job]
) -> None:
    engine, ref = FakeEngine(), tmp_path / "voice.wav"
    soundfile.write(ref, 0.3 * np.sin(np.arange(2 * RATE) / 20), RATE)
    text = "One two three four. Five six seven eight. Nine ten eleven twelve."
    wrong = "Five six seven eight."
    line = Job("a", text, tmp_path / "a.wav", ref=ref, settings=Settings(seed=7, max_chars=24))
    checker = FakeChecker({wrong: ["five six", "five six seven eight"]})
    result = speak(tmp_path, checker, line, engine=engine)["a"]
    again = engine.requests[3:]
    assert len(again) == 1 and wrong in spoken(again[0])
    assert [request.sampling.seed for request in again] == [8]
    assert result.check is not None
    assert (result.status, result.seed, result.check["seeds"]) == ("ok", 7, [7, 8, 7])
    assert checker.voices == [ref] * 4


def test_without_a_voice_all_segments_are_spoken_again(tmp_path: Path, job: Callable[..., Job]) -> None:
    """The first segment is the voice of the others."""
    engine = FakeEngine()
    line = job(text="One two three four. Five six seven eight.", max_chars=24)
    checker = FakeChecker({"Five six seven eight.": ["five six"]})
    result = speak(tmp_path, checker, line, engine=engine)["a"]
    assert [request.sampling.seed for request in engine.requests] == [7, 7, 8, 8]
    assert (result.status, result.seed) == ("ok", 8)
    assert checker.asked == {"One two three four.": 2, "Five six seven eight.": 2}


def test_a_line_that_can_not_be_heard_is_doubtful_and_not_spoken_again(tmp_path: Path, job: Callable[..., Job]) -> None:
    engine = FakeEngine()
    result = speak(tmp_path, FakeChecker({TEXT: ["dead"]}), job(), engine=engine)["a"]
    assert len(engine.requests) == 1
    assert result.reason is not None
    assert result.reason.startswith("it could not be checked: the recognizer's process ended twice while it listened")
    assert (tmp_path / "a.wav").exists()


def test_many_lines(tmp_path: Path, job: Callable[..., Job]) -> None:
    texts = {f"line{number}": f"This is line {'abcdefghijklmnopqrst'[number]} here." for number in range(20)}
    bad = [text for number, text in enumerate(texts.values()) if number % 3 == 0]
    checker = FakeChecker({text: ["here"] for text in bad})
    found = speak(tmp_path, checker, *(job(name, text, seed=5) for name, text in texts.items()))
    assert {result.status for result in found.values()} == {"ok"}
    assert sum(result.seed == 6 for result in found.values()) == len(bad)
    assert len(found) == 20


def test_the_same_seeds_give_the_same_choice(tmp_path: Path, job: Callable[..., Job]) -> None:
    def choice() -> tuple[object, ...]:
        result = speak(tmp_path, FakeChecker({TEXT: [BAD, WORSE, BAD]}), job())["a"]
        return result.seed, result.reason, result.sha256

    assert choice() == choice()
    assert choice()[0] == 7, "of equally good takes the first"


class Lines:
    """A feed that hands out its utterances one by one."""

    def __init__(self, *jobs: Job):
        self.waiting = make_plan(jobs).utterances

    def next(self) -> Any:
        return self.waiting.pop(0) if self.waiting else None

    def wait(self) -> bool:
        return bool(self.waiting)


def test_lines_of_a_feed_are_checked(tmp_path: Path, job: Callable[..., Job]) -> None:
    """As in a worker: the last line is spoken again although no further line comes."""
    engine = FakeEngine()
    engine.scheduler = SimpleNamespace(max_running=4)  # type: ignore[attr-defined]
    generate = engine.generate
    engine.generate = lambda requests, ahead: generate(requests)  # type: ignore[method-assign, assignment, misc]
    feed = Lines(job("a"), job("b", "Good luck to you."))
    found = speak(tmp_path, FakeChecker({TEXT: [BAD, BAD]}), engine=engine, feed=feed)
    assert {name: (result.status, result.seed) for name, result in found.items()} == {"a": ("ok", 9), "b": ("ok", 7)}
