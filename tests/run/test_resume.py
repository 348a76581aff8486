"""Which lines of an earlier run are kept, and why the others are spoken again."""

from __future__ import annotations

import errno
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
from voxcli.errors import OutputError
from voxcli.jobs.fingerprint import Fingerprint, read_fingerprint
from voxcli.jobs.history import Earlier
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.rerun import Rerun, RerunPolicy
from voxcli.jobs.result import Result, failure, skipped
from voxcli.jobs.settings import Settings
from voxcli.model import hub
from voxcli.model.hub import model_identity
from voxcli.run.results import ResultLog, read_earlier, read_results
from voxcli.run.resume import ResumePlan, make_resume_plan, preview
from voxcli.run.session import Session

MODEL = "model-1"


def voice(path: Path, pitch: float = 20.0) -> Path:
    soundfile.write(path, 0.3 * np.sin(np.arange(RATE * 2) / pitch).astype(np.float32), RATE)
    return path


def job(out: Path, identity: str = "a", text: str = "Hello.", **values: Any) -> Job:
    return Job(id=identity, text=text, out=values.pop("out", out / f"{identity}.wav"), **values)


def resume_plan(out: Path, jobs: list[Job], rerun: RerunPolicy = "changed", model: str = MODEL) -> ResumePlan:
    return make_resume_plan(make_plan(jobs), read_earlier(out), model, Rerun(rerun))


def test_a_line_without_words_is_neither_done_nor_failed(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    scene = job(tmp_path, text="***")
    with ResultLog(tmp_path) as log:
        log.append(skipped(scene, 1.0, tmp_path).result)
    assert read_results(tmp_path)["a"].status == "skipped"
    kept = resume_plan(tmp_path, [job(tmp_path)])
    assert [outcome.result.status for outcome in kept.kept] == ["ok"] and not kept.todo
    assert resume_plan(tmp_path, [job(tmp_path, text="Other words.")]).reasons == {"text changed": 1}
    assert resume_plan(tmp_path, [job(tmp_path, text="Other words.")], "failed").left == 1


def test_a_line_that_had_no_words_is_spoken_when_it_has_some(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        log.append(skipped(job(tmp_path, text="***"), 1.0, tmp_path).result)
    assert resume_plan(tmp_path, [job(tmp_path)]).reasons == {"text changed": 1}


def run(out: Path, jobs: list[Job], rerun: RerunPolicy = "changed", fails: dict[str, str] | None = None) -> ResumePlan:
    """Run a plan with a fake engine: speak lines, record failures, and return the resume plan."""
    plan = make_plan(jobs)
    with ResultLog(out) as log:
        for refused, error in plan.refused:
            log.append(failure(refused, error, out).result)
        found = make_resume_plan(plan, Earlier(out, log.history), MODEL, Rerun(rerun))
        if found.mended:
            log.append(*found.mended)
        engine = cast(Engine, FakeEngine(fails=fails or {}))
        list(Session(engine, found.todo, out, log=log, notify=lambda remark: None).run())
    return found


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
    "solver": ("settings changed", lambda out, before: replace(before, settings=Settings(solver="ab2"))),
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
    found = resume_plan(tmp_path, [changed(tmp_path, before), other])
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
    assert resume_plan(tmp_path, [SAME[change](tmp_path, before)]).todo == []


def test_results_from_before_there_were_solvers_are_those_of_euler(tmp_path: Path) -> None:
    jobs = [job(tmp_path), job(tmp_path, "b", settings=Settings(solver="ab2"))]
    run(tmp_path, jobs)
    named = {name: (result.fingerprint or {})["settings"] for name, result in read_results(tmp_path).items()}
    assert named["a"] == {"cfg": 2.0, "steps": 10, "format": "wav"}, "as it was when there was no solver to name"
    assert named["b"] == named["a"] | {"solver": "ab2"}
    assert resume_plan(tmp_path, jobs).todo == []
    jobs[1] = replace(jobs[1], settings=Settings(solver="euler"))
    assert resume_plan(tmp_path, jobs).reasons == {"settings changed": 1}


def test_another_model_speaks_everything_again(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    assert resume_plan(tmp_path, [job(tmp_path)], model="model-2").reasons == {"model changed": 1}


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
    assert resume_plan(tmp_path, [job(tmp_path, settings=Settings(seed=drawn))]).todo == []
    run(tmp_path, [job(tmp_path, "b", settings=Settings(seed=3))])
    assert resume_plan(tmp_path, [job(tmp_path, "b")]).todo == []
    assert resume_plan(tmp_path, [job(tmp_path, "b", settings=Settings(seed=4))]).reasons == {"seed changed": 1}


def test_failed_lines_are_tried_again_and_retry_failed_tries_nothing_else(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    run(tmp_path, jobs, fails={"b#0": "no finite patch"})
    changed = [jobs[0], jobs[1], replace(jobs[2], text="Hello you."), job(tmp_path, "d")]
    assert resume_plan(tmp_path, changed).reasons == {"failed before": 1, "text changed": 1, "new": 1}
    only = resume_plan(tmp_path, changed, "failed")
    assert ([utterance.job.id for utterance in only.todo], only.left) == (["b"], 2)
    assert [outcome.job.id for outcome in only.kept] == ["a"]
    assert str(only) == (
        "1 line done before and unchanged, 1 to speak (1 failed before), 2 left for a run without --retry-failed"
    )


def no_recording(out: Path, before: Job) -> Job:
    return replace(before, ref=out / "typo.wav")


def recording_gone(out: Path, before: Job) -> Job:
    assert before.ref is not None
    before.ref.rename(out / "elsewhere.wav")
    return before


def recording_broken(out: Path, before: Job) -> Job:
    assert before.ref is not None
    before.ref.rename(out / "elsewhere.wav")
    before.ref.write_text("no sound")
    return before


FAILURES: dict[str, Change] = {
    "a recording that is misspelt": no_recording,
    "a recording that is gone": recording_gone,
    "a recording that is broken": recording_broken,
    "a voice that was removed": lambda out, before: replace(before, ref=None, voice=out / "anna.safetensors"),
    "no text": lambda out, before: replace(before, text=""),
}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("how", FAILURES)
def test_a_run_that_merely_fails_leaves_what_is_finished_as_it_is(how: str, times: int, tmp_path: Path) -> None:
    jobs = [job(tmp_path, name, ref=voice(tmp_path / "v.wav")) for name in "ab"]
    run(tmp_path, jobs)
    log, sounds = (tmp_path / "results.jsonl").read_text(), [each.out.read_bytes() for each in jobs]
    results = read_results(tmp_path)
    failing = [FAILURES[how](tmp_path, jobs[0]), jobs[1] if "recording" not in how else replace(jobs[1], text="")]
    for _ in range(times):
        run(tmp_path, failing)
    assert read_results(tmp_path)["a"].status == "failed", "its last result is the failure"
    if (tmp_path / "elsewhere.wav").exists():
        (tmp_path / "elsewhere.wav").replace(tmp_path / "v.wav")

    again = run(tmp_path, jobs)
    assert (again.todo, again.reasons) == ([], {})
    assert sorted(outcome.job.id for outcome in again.kept) == ["a", "b"]
    assert all(outcome.before and outcome.result == results[outcome.job.id] for outcome in again.kept)
    assert [each.out.read_bytes() for each in jobs] == sounds
    assert sorted((tmp_path / "results.jsonl").read_text().splitlines()) == sorted(log.splitlines())


def test_a_file_that_fails_to_come_back_comes_back_with_its_seed(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    drawn, sound = read_results(tmp_path)["a"].seed, (tmp_path / "a.wav").read_bytes()
    (tmp_path / "a.wav").unlink()
    assert run(tmp_path, [job(tmp_path)], fails={"a#0": "no finite patch"}).reasons == {"file missing": 1}
    assert run(tmp_path, [job(tmp_path, text="")]).reasons == {}
    assert run(tmp_path, [job(tmp_path)]).reasons == {"failed before": 1}
    assert (read_results(tmp_path)["a"].seed, (tmp_path / "a.wav").read_bytes()) == (drawn, sound)


def test_a_file_that_is_put_back_by_hand_after_a_failure_is_kept(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    (tmp_path / "a.wav").rename(tmp_path / "elsewhere.wav")
    run(tmp_path, [job(tmp_path)], fails={"a#0": "no finite patch"})
    (tmp_path / "elsewhere.wav").rename(tmp_path / "a.wav")
    assert len(run(tmp_path, [job(tmp_path)]).kept) == 1


def test_a_line_that_changed_and_failed_since_is_spoken_with_its_seed(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    drawn = read_results(tmp_path)["a"].seed
    changed = [job(tmp_path, text="Hello you.")]
    assert run(tmp_path, changed, fails={"a#0": "no finite patch"}).reasons == {"text changed": 1}
    assert resume_plan(tmp_path, [job(tmp_path)]).reasons == {}, "the former text and its file"
    assert run(tmp_path, changed).reasons == {"failed before": 1}
    assert read_results(tmp_path)["a"].seed == drawn


def test_a_forced_run_that_fails_leaves_the_file_that_is_there(tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    sound = (tmp_path / "a.wav").read_bytes()
    run(tmp_path, [job(tmp_path)], "all", fails={"a#0": "no finite patch"})
    assert len(run(tmp_path, [job(tmp_path)]).kept) == 1
    assert (tmp_path / "a.wav").read_bytes() == sound


def test_retry_failed_speaks_what_failed_and_has_no_file_as_it_would_be(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    run(tmp_path, jobs)
    run(tmp_path, [replace(each, text="") for each in jobs[:2]])
    (tmp_path / "b.wav").unlink()
    only = run(tmp_path, [*jobs, job(tmp_path, "d")], "failed")
    assert (only.reasons, only.left) == ({"failed before": 1}, 1)
    assert sorted(outcome.job.id for outcome in only.kept) == ["a", "c"]
    assert all(result.ok for result in read_results(tmp_path).values())


def test_a_line_whose_first_file_could_not_be_written_keeps_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audio was made. A line for which the engine failed gets another seed."""
    jobs = [job(tmp_path, "a"), job(tmp_path, "b")]
    with monkeypatch.context() as patch:
        patch.setattr("voxcli.run.finish.write_audio", full_disk)
        run(tmp_path, jobs, fails={"b#0": "no finite patch"})
    tried = read_results(tmp_path)
    assert (type(tried["a"].seed), tried["b"].seed) == (int, None)
    assert run(tmp_path, jobs).reasons == {"failed before": 2}
    assert read_results(tmp_path)["a"].seed == tried["a"].seed


def full_disk(*arguments: Any, **values: Any) -> None:
    raise OutputError("a.wav: can't be written (No space left on device)")


def test_an_id_in_other_case_is_that_of_the_same_line(tmp_path: Path) -> None:
    """As in a manifest: on some systems both ids have the same file."""
    jobs = [job(tmp_path, "a"), replace(job(tmp_path, "b"), out=tmp_path / "x.wav")]
    run(tmp_path, jobs)
    drawn, sound = read_results(tmp_path)["a"].seed, jobs[0].out.read_bytes()
    jobs = [job(tmp_path, "A"), replace(job(tmp_path, "B"), out=tmp_path / "x.wav")]
    found = run(tmp_path, jobs)
    assert (found.reasons, [kept.result.id for kept in found.kept]) == ({"name changed": 1}, ["B"])
    assert (read_results(tmp_path)["A"].seed, jobs[0].out.read_bytes()) == (drawn, sound)
    assert read_results(tmp_path)["B"].ok
    assert (len(run(tmp_path, jobs).kept), resume_plan(tmp_path, jobs, "failed").left) == (2, 0)


def test_results_of_before_that_failed_are_spoken_again(tmp_path: Path) -> None:
    """As written by versions that kept only the failure of a line."""
    (tmp_path / "results.jsonl").write_text(
        '{"id": "a", "out": "a.wav", "text": "Hello.", "status": "failed", "seed": null, "error": "no such file"}\n'
    )
    assert run(tmp_path, [job(tmp_path)]).reasons == {"failed before": 1}
    assert read_results(tmp_path)["a"].ok


def test_a_file_that_is_there_and_can_not_be_read_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network fails or permissions are missing: the file may be unchanged."""
    run(tmp_path, [job(tmp_path)])

    def stale(path: Path) -> str:
        raise OSError(errno.ESTALE, "Stale file handle", str(path))

    monkeypatch.setattr("voxcli.run.resume.content_digest", stale)
    with pytest.raises(OutputError) as caught:
        resume_plan(tmp_path, [job(tmp_path)])
    assert str(caught.value) == f"can't read the existing file {tmp_path / 'a.wav'}: Stale file handle"


def test_a_preview_tells_what_is_left_and_how_long_it_takes(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name) for name in "abc"]
    assert preview(make_plan(jobs), read_earlier(tmp_path), Rerun()) == []
    usual = [line.split(" at ")[1] for line in preview(make_plan(jobs), read_earlier(tmp_path), Rerun(), 4.0)]
    assert usual == ["the speed of the last run here (4.00x real time)"]
    run(tmp_path, jobs)
    assert preview(make_plan(jobs), read_earlier(tmp_path), Rerun()) == [
        "3 lines done before and unchanged, 0 to speak"
    ]
    more = [*jobs, job(tmp_path, "d", "x" * 150)]
    first, second = preview(make_plan(more), read_earlier(tmp_path), Rerun())
    assert first == "3 lines done before and unchanged, 1 to speak (1 new)"
    assert re.fullmatch(r"about 10\.0 s of audio to speak, about .* at the speed of the results there \(.*\)", second)


@pytest.mark.parametrize("target", [None, "/dev/zero"])
def test_a_file_replaced_by_a_pipe_or_an_endless_device_is_made_again(target: str | None, tmp_path: Path) -> None:
    run(tmp_path, [job(tmp_path)])
    (tmp_path / "a.wav").unlink()
    (tmp_path / "a.wav").symlink_to(target) if target else os.mkfifo(tmp_path / "a.wav")
    assert run(tmp_path, [job(tmp_path)]).reasons == {"file unreadable": 1}
    assert (tmp_path / "a.wav").is_file() and not (tmp_path / "a.wav").is_symlink()
    assert resume_plan(tmp_path, [job(tmp_path)]).reasons == {}


def test_results_of_another_version_are_made_again(tmp_path: Path) -> None:
    with ResultLog(tmp_path) as log:
        log.append(Result("a", "a.wav", "Hello.", "ok"))
    assert resume_plan(tmp_path, [job(tmp_path)]).reasons == {"of another version": 1}
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
    for name, value in (("MAX_FULL_BYTES", 999), ("BLOCK", 10), ("STRIDE", 100)):
        monkeypatch.setattr(hub, name, value)
    weights = bytearray(1000)
    (tmp_path / "model.safetensors").write_bytes(weights)
    before = model_identity([tmp_path])
    weights[place] = 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert (model_identity([tmp_path]) != before) == noticed
