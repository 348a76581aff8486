"""Which lines of an earlier run are kept, and why the others are spoken again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import soundfile

from tests.run.fakes import RATE, FakeEngine
from voxcli.engine.engine import Engine
from voxcli.jobs.fingerprint import Fingerprint, read_fingerprint
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Result
from voxcli.jobs.settings import Settings
from voxcli.model import hub
from voxcli.model.hub import model_identity
from voxcli.run.results import ResultLog, read_results
from voxcli.run.resume import Agenda, Redo, make_agenda, preview
from voxcli.run.session import Session

MODEL = "model-1"


def voice(path: Path, pitch: float = 20.0) -> Path:
    soundfile.write(path, 0.3 * np.sin(np.arange(RATE * 2) / pitch).astype(np.float32), RATE)
    return path


def job(out: Path, identity: str = "a", text: str = "Hello.", **values: Any) -> Job:
    return Job(id=identity, text=text, out=values.pop("out", out / f"{identity}.wav"), **values)


def agenda(out: Path, jobs: list[Job], redo: Redo = "changed", model: str = MODEL) -> Agenda:
    return make_agenda(make_plan(jobs), read_results(out), out, model, redo)


def run(out: Path, jobs: list[Job], redo: Redo = "changed", fails: dict[str, str] | None = None) -> Agenda:
    """Speak what is to do and say what that was."""
    before = agenda(out, jobs, redo)
    with ResultLog(out) as log:
        engine = cast(Engine, FakeEngine(fails=fails or {}))
        list(Session(engine, before.todo, out, log=log, say=lambda remark: None).run())
    return before


def test_everything_is_new_once_and_kept_from_then_on(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    assert run(tmp_path, jobs).reasons == {"new": 3}
    again = run(tmp_path, jobs)
    assert (again.todo, again.reasons) == ([], {})
    assert [outcome.job.id for outcome in again.kept] == ["a", "b", "c"]
    assert all(outcome.before and outcome.result == read_results(tmp_path)[outcome.job.id] for outcome in again.kept)


Change = Callable[[Path, Job], Job]


def rewrite(out: Path, before: Job) -> Job:
    before.out.write_bytes(before.out.read_bytes()[:-2] + b"\1\1")
    return before


def remove(out: Path, before: Job) -> Job:
    before.out.unlink()
    return before


def replace_by_folder(out: Path, before: Job) -> Job:
    before.out.unlink()
    before.out.mkdir()
    return before


def other_voice(out: Path, before: Job) -> Job:
    assert before.ref is not None
    voice(before.ref, 30.0)
    return before


CHANGES: dict[str, tuple[str, Change]] = {
    "a word": ("text changed", lambda out, before: replace(before, text="Hello you.")),
    "a description": ("text changed", lambda out, before: replace(before, control="warm")),
    "shorter pieces": (
        "text changed",
        lambda out, before: replace(before, text="One. " * 9, settings=Settings(max_chars=20)),
    ),
    "a recording's content": ("voice changed", other_voice),
    "no recording": ("voice changed", lambda out, before: replace(before, ref=None)),
    "steps": ("settings changed", lambda out, before: replace(before, settings=Settings(steps=5))),
    "sample rate": ("settings changed", lambda out, before: replace(before, settings=Settings(sample_rate=8000))),
    "format": ("settings changed", lambda out, before: replace(before, format="wav24")),
    "seed": ("seed changed", lambda out, before: replace(before, settings=Settings(seed=7))),
    "name": ("name changed", lambda out, before: replace(before, out=out / "b.wav")),
    "file's bytes": ("file changed", rewrite),
    "no file": ("file missing", remove),
    "a folder": ("file unreadable", replace_by_folder),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_and_named(tmp_path: Path, change: str) -> None:
    reason, changed = CHANGES[change]
    before = job(tmp_path, ref=voice(tmp_path / "v.wav"))
    other = job(tmp_path, "other", ref=voice(tmp_path / "w.wav"))
    run(tmp_path, [before, other])
    found = agenda(tmp_path, [changed(tmp_path, before), other])
    assert found.reasons == {reason: 1}
    assert [outcome.job.id for outcome in found.kept] == ["other"]


SAME: dict[str, Change] = {
    "spaces and quotes": lambda out, before: replace(before, text="  Hello.\u200b "),
    "the voice under another name": lambda out, before: replace(before, ref=voice(out / "copy.wav")),
    "a bound that no text reaches": lambda out, before: replace(before, settings=Settings(max_chars=90)),
    "its place in the manifest": lambda out, before: replace(before, line=7),
}


@pytest.mark.parametrize("change", SAME)
def test_what_does_not_change_the_sound_changes_nothing(tmp_path: Path, change: str) -> None:
    before = job(tmp_path, ref=voice(tmp_path / "v.wav"))
    run(tmp_path, [before])
    assert agenda(tmp_path, [SAME[change](tmp_path, before)]).todo == []


def test_another_model_speaks_everything_again(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    assert agenda(tmp_path, [job(tmp_path)], model="model-2").reasons == {"model changed": 1}


def test_a_drawn_seed_is_kept_for_a_line_spoken_again_and_drawn_anew_by_force(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    drawn = read_results(tmp_path)["a"].seed
    sound = (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").unlink()
    run(tmp_path, [job(tmp_path)])
    assert (read_results(tmp_path)["a"].seed, (tmp_path / "a.wav").read_bytes()) == (drawn, sound)
    run(tmp_path, [job(tmp_path, text="Hello you.")])
    assert read_results(tmp_path)["a"].seed == drawn
    forced = run(tmp_path, [job(tmp_path, text="Hello you.")], "all")
    assert forced.reasons == {"--force": 1}
    assert read_results(tmp_path)["a"].seed != drawn


def test_a_line_is_content_with_the_seed_once_drawn_for_it_and_with_any_when_it_asks_for_none(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    drawn = read_results(tmp_path)["a"].seed
    assert agenda(tmp_path, [job(tmp_path, settings=Settings(seed=drawn))]).todo == []
    run(tmp_path, [job(tmp_path, "b", settings=Settings(seed=3))])
    assert agenda(tmp_path, [job(tmp_path, "b")]).todo == []
    assert agenda(tmp_path, [job(tmp_path, "b", settings=Settings(seed=4))]).reasons == {"seed changed": 1}


def test_failed_lines_are_tried_again_and_retry_failed_tries_nothing_else(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    run(tmp_path, jobs, fails={"b#0": "no finite patch"})
    changed = [jobs[0], jobs[1], replace(jobs[2], text="Hello you."), job(tmp_path, "d")]
    assert agenda(tmp_path, changed).reasons == {"failed before": 1, "text changed": 1, "new": 1}
    only = agenda(tmp_path, changed, "failed")
    assert ([utterance.job.id for utterance in only.todo], only.left) == (["b"], 2)
    assert [outcome.job.id for outcome in only.kept] == ["a"]
    assert str(only) == (
        "1 lines done before and unchanged, 1 to speak (1 failed before), 2 left for a run without --retry-failed"
    )


def test_a_preview_tells_what_is_left_and_how_long_it_takes(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    assert preview(make_plan(jobs), tmp_path, "changed") == []
    usual = [line.split(" at ")[1] for line in preview(make_plan(jobs), tmp_path, "changed", 4.0)]
    assert usual == ["the speed of the last run here (4.00x real time)"]
    run(tmp_path, jobs)
    assert preview(make_plan(jobs), tmp_path, "changed") == ["3 lines done before and unchanged, 0 to speak"]
    more = [*jobs, job(tmp_path, "d", "x" * 150)]
    first, second = preview(make_plan(more), tmp_path, "changed")
    assert first == "3 lines done before and unchanged, 1 to speak (1 new)"
    assert re.fullmatch(r"about 10\.0 s of audio to speak, about .* at the speed of the results there \(.*\)", second)


@pytest.mark.parametrize("target", [None, "/dev/zero"])
def test_a_file_replaced_by_a_pipe_or_an_endless_device_is_made_again(target: str | None, tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    (tmp_path / "a.wav").unlink()
    (tmp_path / "a.wav").symlink_to(target) if target else os.mkfifo(tmp_path / "a.wav")
    assert run(tmp_path, [job(tmp_path)]).reasons == {"file unreadable": 1}
    assert (tmp_path / "a.wav").is_file() and not (tmp_path / "a.wav").is_symlink()
    assert agenda(tmp_path, [job(tmp_path)]).reasons == {}


def test_results_of_another_version_are_made_again(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Hello.", "ok"))
    assert agenda(tmp_path, [job(tmp_path)]).reasons == {"of another version": 1}
    assert read_fingerprint({"text": "a"}) is None
    values = {"text": "a", "voice": None, "settings": {}, "model": "m", "seed": None}
    assert read_fingerprint(values) == Fingerprint("a", None, {}, "m", None)


def test_a_model_is_known_by_its_content(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(bytes(5_000_000))
        (folder / "README.md").write_text(folder.name)
    assert model_identity([first]) == model_identity([second])
    assert model_identity([first]) != model_identity([first, second])
    weights = bytearray(5_000_000)
    for place in (0, 70_000, 2_345_678, -1):
        weights[place] = 1
        (second / "model.safetensors").write_bytes(weights)
        assert model_identity([first]) != model_identity([second])
        weights[place] = 0


@pytest.mark.parametrize(
    ("place", "noticed"), [(0, True), (9, True), (50, False), (105, True), (992, True), (-1, True)]
)
def test_of_a_file_too_large_to_read_blocks_are(
    place: int, noticed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("WHOLE", 999), ("BLOCK", 10), ("STRIDE", 100)):
        monkeypatch.setattr(hub, name, value)
    weights = bytearray(1000)
    (tmp_path / "model.safetensors").write_bytes(weights)
    before = model_identity([tmp_path])
    weights[place] = 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert (model_identity([tmp_path]) != before) == noticed
