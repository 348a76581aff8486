"""Real workers and the real driver in one process give the files of a single session, whichever workers die."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.checkpoints import write_checkpoint
from tests.cluster.pools import ThreadHandle, ThreadPool, batch_run, config
from voxcli import faults
from voxcli.audio.pcm import pcm16
from voxcli.cluster import driver as driver_module
from voxcli.cluster.driver import Driver
from voxcli.cluster.options import HANG_S, ClusterOptions
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.engine.voices import VoiceEncoder
from voxcli.errors import CheckpointError, DeviceError, ModelNotFound, SynthesisError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Plan, Utterance, make_plan
from voxcli.jobs.result import Outcome
from voxcli.jobs.settings import Settings
from voxcli.run.results import ResultLog, read_earlier, read_results
from voxcli.run.resume import ResumePlan, make_resume_plan
from voxcli.run.session import Session

LINES = 12
BRIEF = Settings(steps=2, max_seconds=0.8, max_chars=40)
TIMES = {"wall_s": 0, "rtf": 0, "finished": 0}
Spoken = tuple[dict[str, bytes], dict[str, Any]]  # files and results, by id


@pytest.fixture(autouse=True)
def nothing_armed() -> Iterator[None]:
    yield
    faults.arm("")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("recordings")
    for name, pitch in (("low", 20.0), ("high", 9.0)):
        tone = 0.3 * np.sin(np.arange(16_000 * 2) / pitch).astype(np.float32)
        soundfile.write(folder / f"{name}.wav", tone, 16_000)
    return [folder / "low.wav", folder / "high.wav"]


def plan_of(out: Path, recordings: list[Path], count: int = LINES, **values: Any) -> Plan:
    """Plan short and long lines, one of several segments, with two voices, one of them also used as a prompt."""
    jobs = []
    for n in range(count):
        text = "The wind came over the hill. It did not stop there. " * 2 if n == 3 else f"Line {'word ' * (n % 5)}{n}."
        settings = replace(BRIEF, seed=n, max_seconds=2.0 if n == 3 else 0.8)
        job = Job(f"{n}", text, out / f"part-{n % 2}" / f"{n}.wav", settings=settings)
        if n % 4 == 1:
            job = replace(job, ref=recordings[n % 8 // 4])
        if n % 8 == 6:
            job = replace(job, prompt_audio=recordings[0], prompt_text="What it says.")
        jobs.append(replace(job, **values))
    return make_plan(jobs)


@pytest.fixture(scope="module")
def alone(tiny_checkpoint: Path, recordings: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    """Files and results of one session, by id."""
    out = tmp_path_factory.mktemp("alone")
    loaded = load_engine(ModelOptions(model=str(tiny_checkpoint), device="cpu"), print)
    plan = plan_of(out, recordings)
    with ResultLog(out) as log:
        list(Session(loaded.engine, plan.utterances, out, log=log, notify=print).run())
    return files(out), logged(out)


def files(out: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in out.rglob("*.wav")}


def logged(out: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert len(lines) == len({line["id"] for line in lines}), "each line is recorded once"
    return {line["id"]: line | TIMES for line in lines}


def drive(
    pool: ThreadPool,
    plan: Plan,
    out: Path,
    notify: Callable[[str], None] = print,
    max_retries: int = 3,
    hang_s: float = HANG_S,
    encoder: Callable[[], str] = str,
) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    with ResultLog(out) as log:
        driver = Driver(
            pool,
            [plan.utterances],
            batch_run(out, log, notify),
            options=ClusterOptions(max_retries=max_retries, hang_s=hang_s),
            rate=16_000,
            encoder=encoder,
            poll_s=0.5,
        )
        for outcome in driver.run():
            assert outcome.job.id not in outcomes
            outcomes[outcome.job.id] = outcome
    return outcomes


@pytest.mark.parametrize("workers", [1, 3])
def test_the_files_and_results_are_those_of_one_session(
    workers: int,
    tiny_checkpoint: Path,
    recordings: list[Path],
    tmp_path: Path,
    alone: Spoken,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[Any] = []
    monkeypatch.setattr(VoiceEncoder, "encode", _counting(VoiceEncoder.encode, encoded))
    pool = ThreadPool(workers, config(tiny_checkpoint, tmp_path))
    outcomes = drive(pool, plan_of(tmp_path, recordings), tmp_path)
    assert (files(tmp_path), logged(tmp_path)) == alone
    assert {name: outcome.result for name, outcome in outcomes.items()}.keys() == alone[1].keys()
    assert len(encoded) == len(pool.shared) == 3, "two references and one prompt, each encoded once"


def _counting(real: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    def encode(encoder: VoiceEncoder, samples: Any, key: str, padding: Any) -> Any:
        calls.append((key, padding))
        return real(encoder, samples, key, padding)

    return encode


@pytest.mark.parametrize("shared", [True, False], ids=["shared folder", "as bytes"])
def test_a_round_begins_once_the_one_before_has_ended_and_voices_come_with_their_results(
    shared: bool, tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    """Both rounds use the same recordings: each is encoded again, because it was dropped in between.

    What is spoken for its voice has neither file nor result, and is spoken again in the second round.
    """
    out, other = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    other.mkdir()
    here = config(tiny_checkpoint, out if shared else other)
    pool = ThreadPool(2, here if shared else replace(here, nonce="of the driver"))
    utterances = plan_of(out, recordings).utterances
    first = [replace(each, gives_voice=each.job.id == "4") for each in utterances if int(each.job.id) < 6]
    with ResultLog(out) as log:
        batch, done = batch_run(out, log), list[str]()

        def rounds() -> Iterator[list[Utterance]]:
            yield first
            assert sorted(done) == ["0", "1", "2", "3", "4", "5"]
            assert "4" not in logged(out)
            yield [each for each in utterances if int(each.job.id) >= 6 or each.job.id == "4"]

        driver = Driver(pool, rounds(), batch, options=ClusterOptions(), rate=16_000, encoder=str, poll_s=0.5)
        for outcome in driver.run():
            done.append(outcome.job.id)
    assert (files(out), logged(out)) == alone
    assert batch._spoken.keys() == {"4"}
    voice = batch._spoken["4"]
    file = soundfile.read(out / "part-0" / "4.wav", dtype="int16")[0]
    assert np.array_equal(pcm16(voice.samples), file), "its only clip"
    assert len(voice.latents) == logged(out)["4"]["patches"]


def test_without_a_shared_folder_files_come_as_bytes(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    """One worker shares the folder; the other finds another probe in it."""
    out, other = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    other.mkdir()
    here = config(tiny_checkpoint, out)
    there = replace(config(tiny_checkpoint, other), nonce="of the driver")
    pool = ThreadPool(2, here, there)
    drive(pool, plan_of(out, recordings), out)
    assert (files(out), logged(out)) == alone
    assert [path.name for path in other.iterdir()] == [".voxcpm2-probe.part"]
    assert [handle.worker._scratch is None for handle in pool.made] == [True, False]
    assert not Path(pool.made[1].worker._scratch.name).exists(), "its temporary folder is removed"  # type: ignore[union-attr]


def test_lines_of_workers_that_die_run_elsewhere(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    """Three workers die, each shortly after it was given lines."""
    pool = ThreadPool(2, config(tiny_checkpoint, tmp_path))
    messages: list[str] = []

    def die(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "put" and len(pool.made) < 5:
            time.sleep(0.02 * len(pool.made))
            handle.die()

    pool.after = die
    drive(pool, plan_of(tmp_path, recordings), tmp_path, messages.append, max_retries=9)
    assert (files(tmp_path), logged(tmp_path)) == alone
    died = [message for message in messages if " died: it was killed" in message]
    assert len(died) == len(pool.made) - 2 >= 3
    assert re.search(r"; its (unfinished line is|\d+ unfinished lines are) retried$", died[0])


@pytest.mark.parametrize("how", ["it answers nothing", "its engine makes no step"])
def test_a_worker_that_hangs_is_taken_for_dead(
    how: str,
    tiny_checkpoint: Path,
    recordings: list[Path],
    tmp_path: Path,
    alone: Spoken,
) -> None:
    pool = ThreadPool(2, config(tiny_checkpoint, tmp_path))
    messages: list[str] = []
    woken = threading.Event()

    def hang(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "put" and handle is pool.made[0]:
            handle.worker._loaded.engine.on_patch = lambda patches: woken.wait(60)
            handle.frozen = how == "it answers nothing"

    pool.before = hang
    try:
        drive(pool, plan_of(tmp_path, recordings), tmp_path, messages.append, hang_s=2.0)
    finally:
        woken.set()
    assert (files(tmp_path), logged(tmp_path)) == alone
    [died] = [message for message in messages if " died: " in message]
    assert died.startswith("worker 1 (process ") and "died: it made no progress for 2 s; its " in died
    assert len(pool.made) == 3


def test_time_the_driver_is_stopped_does_not_count_as_a_hang(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    """For example the command is suspended (Ctrl-Z), and its workers are not."""
    pool = ThreadPool(2, config(tiny_checkpoint, tmp_path))
    messages: list[str] = []
    loaded: set[ThreadHandle] = set()
    pauses = iter([0, 0, 3.5])

    def stop_for_a_while(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "take":
            loaded.add(handle)
        if len(loaded) == 2:
            time.sleep(next(pauses, 0))

    pool.before = stop_for_a_while
    drive(pool, plan_of(tmp_path, recordings), tmp_path, messages.append, hang_s=3.0)
    assert next(pauses, None) is None, "it was stopped"
    assert (files(tmp_path), logged(tmp_path)) == alone
    assert len(pool.made) == 2 and not any("died" in message for message in messages)


def test_where_no_worker_can_be_started_again_the_others_go_on(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    good, broken = config(tiny_checkpoint, tmp_path), config(tiny_checkpoint, tmp_path, model=str(tmp_path / "none"))
    pool = ThreadPool(2, good, good, broken)
    messages: list[str] = []

    def die(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "put" and handle is pool.made[0]:
            handle.die()

    pool.after = die
    drive(pool, plan_of(tmp_path, recordings), tmp_path, messages.append)
    assert (files(tmp_path), logged(tmp_path)) == alone
    assert len(pool.made) == 3
    [given_up] = [message for message in messages if "can't be restarted" in message]
    assert given_up.startswith("worker 1 can't be restarted: ModelNotFound: ") and given_up.endswith("; 1 worker left")


def test_a_line_that_takes_its_worker_with_it_is_failed_and_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))
    jobs = [Job(f"{n}", "Hello.", tmp_path / f"{n}.wav", settings=BRIEF) for n in range(6)]
    plan = make_plan([*jobs, Job("bad", "Poison, a longer line.", tmp_path / "bad.wav", settings=BRIEF)])

    def die(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "put" and any(item.utterance.job.id == "bad" for item in values[0]):
            handle.die()

    pool.after = die
    outcomes = drive(pool, plan, tmp_path, max_retries=9)
    assert {name for name, outcome in outcomes.items() if not outcome.result.ok} == {"bad"}
    assert str(outcomes["bad"].error) == "its worker died 4 times while it was spoken"
    assert len(pool.made) == 5


def test_workers_that_die_again_and_again_end_the_run_in_a_line(tiny_checkpoint: Path, tmp_path: Path) -> None:
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))
    pool.before = lambda handle, method, values: handle.die()
    with pytest.raises(SynthesisError, match=r"workers died 12 times in a row without finishing a line.*was killed"):
        drive(pool, make_plan([Job("a", "Hello.", tmp_path / "a.wav")]), tmp_path)
    assert logged(tmp_path) == {}


def test_a_voice_that_is_unavailable_fails_its_own_lines(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, recordings)
    faults.arm("voice:error")
    outcomes = drive(ThreadPool(2, config(tiny_checkpoint, tmp_path)), plan, tmp_path)
    failed = {outcome.job.id for outcome in outcomes.values() if not outcome.result.ok}
    assert failed in ({"1", "9"}, {"5"}, {"6"}), "the lines of the voice that was encoded first"
    assert {str(outcomes[name].error) for name in failed} == {"unexpected RuntimeError: a fault at voice"}
    assert len(outcomes) == LINES


def test_a_worker_that_dies_with_a_voice_leaves_it_to_another(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))

    def die(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "encode" and handle is pool.made[0]:
            handle.die()

    pool.after = die
    drive(pool, plan_of(tmp_path, recordings), tmp_path)
    assert (files(tmp_path), logged(tmp_path)) == alone
    assert len(pool.made) == 2


def test_a_device_that_breaks_at_a_voice_leaves_it_to_another_worker(
    tiny_checkpoint: Path,
    recordings: list[Path],
    tmp_path: Path,
    alone: Spoken,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls = VoiceEncoder.encode, iter(range(100))

    def encode(encoder: VoiceEncoder, samples: Any, key: str, padding: Any) -> Any:
        if next(calls) == 0:
            raise DeviceError("cuda:0 no longer works")
        return real(encoder, samples, key, padding)

    monkeypatch.setattr(VoiceEncoder, "encode", encode)
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))
    drive(pool, plan_of(tmp_path, recordings), tmp_path)
    assert (files(tmp_path), logged(tmp_path)) == alone
    assert len(pool.made) == 2


def test_a_machine_with_another_model_or_none_is_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    import socket

    plan = make_plan([Job("a", "Hello.", tmp_path / "a.wav", settings=BRIEF)])
    other = write_checkpoint(tmp_path / "other", seed=3)
    wrong = config(tiny_checkpoint, tmp_path, model=str(other))
    with pytest.raises(CheckpointError, match=f"^{socket.gethostname()}: .*other is not the same model here as"):
        drive(ThreadPool(1, wrong), plan, tmp_path)
    missing = config(tiny_checkpoint, tmp_path, model=str(tmp_path / "nowhere"))
    with pytest.raises(ModelNotFound, match=f"^{socket.gethostname()}: the model folder .*nowhere is missing here"):
        drive(ThreadPool(1, missing), plan, tmp_path)
    uncached = config(tiny_checkpoint, tmp_path, model="some/model")
    with pytest.raises(ModelNotFound, match="`voxcpm2 download some/model --ray-address ADDRESS` fetches it"):
        drive(ThreadPool(1, uncached), plan, tmp_path)


def test_the_driver_draws_missing_seeds_so_that_a_retry_gives_the_same_audio(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    plan = make_plan([Job(f"{n}", "Hello.", tmp_path / f"{n}.wav", settings=BRIEF) for n in range(3)])
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))
    handed: list[dict[str, int]] = []

    def die_once(handle: ThreadHandle, method: str, values: Any) -> None:
        if method == "put":
            handed.append({item.utterance.job.id: item.utterance.seed for item in values[0]})
            if len(handed) == 1:
                handle.die()

    pool.after = die_once
    outcomes = drive(pool, plan, tmp_path)
    seeds = {name: outcome.result.seed for name, outcome in outcomes.items()}
    assert len(set(seeds.values())) == len(seeds) == 3
    for some in handed:
        assert some.items() <= seeds.items()
    assert len(handed) > 1 and len(pool.made) == 2, "some were handed out twice"


def test_a_lost_file_comes_back_as_it_was_though_the_first_try_fails(tiny_checkpoint: Path, tmp_path: Path) -> None:
    plan = make_plan([Job(name, f"Line {name}.", tmp_path / f"{name}.wav", settings=BRIEF) for name in "abc"])

    def again(**values: Any) -> ResumePlan:
        resume_plan = make_resume_plan(plan, read_earlier(tmp_path), "a model")
        config_of = config(tiny_checkpoint, tmp_path)
        drive(ThreadPool(2, replace(config_of, **values)), Plan(resume_plan.todo), tmp_path)
        return resume_plan

    again()
    before = files(tmp_path)
    for values in ({}, {"nonce": "of another folder"}):  # the file is written by the worker, then by the driver
        (tmp_path / "b.wav").unlink()
        faults.arm("write:enospc")
        again(**values)
        assert not read_results(tmp_path)["b"].ok
        faults.arm("")
        assert again(**values).reasons == {"failed before": 1}
        assert files(tmp_path) == before


@pytest.mark.parametrize("shares", [True, False])
def test_a_first_file_that_could_not_be_written_leaves_its_seed(
    shares: bool, tiny_checkpoint: Path, tmp_path: Path
) -> None:
    plan = make_plan([Job("a", "A line.", tmp_path / "a.wav", settings=BRIEF)])
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path, **({} if shares else {"nonce": "of another folder"})))
    faults.arm(f"write:enospc:{1 if shares else 2}")  # the first write is that of the file it sends
    (outcome,) = drive(pool, plan, tmp_path).values()
    assert outcome.error is not None and "No space left on device" in str(outcome.error)
    assert type(read_results(tmp_path)["a"].seed) is int


def test_leaving_early_notes_what_is_finished(
    tiny_checkpoint: Path, recordings: list[Path], tmp_path: Path, alone: Spoken
) -> None:
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path))
    with ResultLog(tmp_path) as log:
        utterances = plan_of(tmp_path, recordings).utterances
        run = Driver(
            pool,
            [utterances],
            batch_run(tmp_path, log),
            options=ClusterOptions(),
            rate=16_000,
            encoder=str,
            poll_s=60.0,
        ).run()
        next(run)
        began = time.monotonic()
        run.close()
        assert time.monotonic() - began < 5, "a worker that polls for 60 s does not delay the end"
    done = logged(tmp_path)
    assert 1 <= len(done) < LINES
    assert files(tmp_path) == {name: alone[0][name] for name in done}
    assert all(done[name] == alone[1][name] for name in done)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"results.jsonl", ".voxcpm2-probe.part", *(result["out"] for result in done.values())}


ONE_BY_ONE = ModelOptions(device="cpu", max_batch=4, decode_clips=1)


def plan_with_a_long_line(out: Path) -> Plan:
    """It is under way for long after the first of the others has landed, with ONE_BY_ONE."""
    long = Settings(steps=2, min_seconds=8.0, max_seconds=9.0)
    jobs = [Job(f"{n}", f"Line {n}.", out / f"{n}.wav", settings=BRIEF if n else long) for n in range(LINES)]
    return make_plan(jobs)


@pytest.mark.parametrize(("end", "unrecorded"), [("stops", False), ("freezes", True), ("dies", True)])
def test_leaving_early_tells_whether_files_may_be_there_that_no_result_names(
    end: str, unrecorded: bool, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_module, "PATIENCE_S", 60.0 if end == "stops" else 0.3)
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path, options=ONE_BY_ONE))
    utterances = plan_with_a_long_line(tmp_path).utterances
    driver = Driver(pool, [utterances], batch_run(tmp_path, None), options=ClusterOptions(), rate=16_000, encoder=str)
    run = driver.run()
    next(run)
    if end == "freezes":
        pool.made[0].frozen = True
    elif end == "dies":
        pool.made[0].die()
    run.close()  # type: ignore[attr-defined]
    assert driver.unrecorded == unrecorded


def test_what_a_dead_worker_may_have_left_is_recorded_once_another_has_spoken_it(
    tiny_checkpoint: Path, tmp_path: Path
) -> None:
    pool = ThreadPool(1, config(tiny_checkpoint, tmp_path, options=ONE_BY_ONE))
    utterances = plan_with_a_long_line(tmp_path).utterances
    driver = Driver(pool, [utterances], batch_run(tmp_path, None), options=ClusterOptions(), rate=16_000, encoder=str)
    seen = []
    for outcome in driver.run():
        if not seen:
            pool.made[0].die()
        seen.append((outcome.job.id, driver.unrecorded))
    assert len(seen) == LINES and len(pool.made) == 2
    assert [unrecorded for identity, unrecorded in seen if identity == "0"] == [False]
    assert seen[-1][1] is False and any(unrecorded for _, unrecorded in seen)
