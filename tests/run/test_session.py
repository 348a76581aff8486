"""The logic of a session, with a fake engine. tests/cli/test_speech.py uses the real one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
import soundfile
import torch

from tests.run.fakes import PATCH_S, PATCH_SHAPE, RATE, FakeEngine, spoken
from voxcli.audio.levels import FRAME_S, active_rms
from voxcli.audio.tail import KEPT_S
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.errors import DeviceError, InputError, OutputError, SynthesisError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Outcome
from voxcli.jobs.settings import Settings
from voxcli.run import finish as finish_module
from voxcli.run import running_job as take_module
from voxcli.run.results import ResultLog
from voxcli.run.session import Session
from voxcli.text.split import SENTENCE_PAUSE_S

LONG = "The wind came over the hill. " * 4


def speak(out: Path, engine: FakeEngine, jobs: list[Job], remarks: list[str] | None = None) -> dict[str, Outcome]:
    plan = make_plan(jobs)
    assert not plan.refused
    notify = (lambda remark: None) if remarks is None else remarks.append
    with ResultLog(out) as log:
        session = Session(cast(Engine, engine), plan.utterances, out, log=log, notify=notify)
        return {outcome.job.id: outcome for outcome in session.run()}


def job(out: Path, identity: str, text: str, **values: Any) -> Job:
    return Job(identity, text, out / f"{identity}.wav", **values)


def voice(path: Path, loudness: float = 0.3) -> Path:
    tone = np.sin(np.arange(RATE * 2) / 20).astype(np.float32)
    soundfile.write(path, tone * loudness, RATE)
    return path


def logged(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


def test_every_job_becomes_its_own_file_and_result(tmp_path: Path) -> None:
    texts = {"a": "One.", "b": "Two two.", "c": "Three three three."}
    outcomes = speak(tmp_path, FakeEngine(rows=2), [job(tmp_path, name, text) for name, text in texts.items()])
    assert outcomes.keys() == texts.keys()
    for name, text in texts.items():
        result = outcomes[name].result
        assert result.status == "ok"
        assert (result.out, result.text, result.sample_rate) == (f"{name}.wav", text, RATE)
        assert result.patches == len(text)
        assert result.duration_s == pytest.approx(len(text) * PATCH_S)
        assert result.stop_reason == "stop"
        assert soundfile.info(tmp_path / result.out).frames == len(text) * round(PATCH_S * RATE)
    assert sorted(line["id"] for line in logged(tmp_path)) == ["a", "b", "c"]


def test_a_file_may_lie_in_a_folder_of_its_own(tmp_path: Path) -> None:
    outcomes = speak(tmp_path, FakeEngine(), [Job("a", "Hello.", tmp_path / "one" / "two" / "a.flac", format="flac")])
    assert outcomes["a"].result.out == "one/two/a.flac"
    assert soundfile.info(tmp_path / "one" / "two" / "a.flac").format == "FLAC"


def test_a_text_of_one_piece_keeps_every_sample_of_its_clip(tmp_path: Path) -> None:
    speak(tmp_path, FakeEngine(), [Job("a", "Hello.", tmp_path / "a.wav", format="wavf")])
    samples, _ = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert np.array_equal(samples, np.full(len(samples), 0.1, np.float32))


def test_pauses_are_silence_of_exactly_their_length(tmp_path: Path) -> None:
    text = "[pause 0.3s] Hello. [pause 1.25s] So. <break time='10ms'/>"
    outcome = speak(tmp_path, FakeEngine(), [Job("a", text, tmp_path / "a.wav", format="wavf")])["a"]
    samples, _ = soundfile.read(tmp_path / "a.wav", dtype="float32")
    starts = [round(0.3 * RATE), round((0.3 + 6 * PATCH_S + 1.25) * RATE)]
    expected = np.zeros(round((0.3 + 6 * PATCH_S + 1.25 + 3 * PATCH_S + 0.01) * RATE), bool)
    for start, letters in zip(starts, (6, 3), strict=True):
        expected[start : start + round(letters * PATCH_S * RATE)] = True
    assert len(samples) == len(expected)
    assert not samples[~expected].any()
    assert (samples[expected] != 0).mean() > 0.99
    assert outcome.result.cues == ((0.3, 1.26, "Hello."), (2.51, 2.99, "So."))
    assert outcome.result.warnings == ()


def test_a_long_pause_at_the_end_is_no_reason_to_warn(tmp_path: Path) -> None:
    assert speak(tmp_path, FakeEngine(), [job(tmp_path, "a", "Hello. [pause 5s]")])["a"].result.warnings == ()


def test_cues_have_the_words_as_they_are_written(tmp_path: Path) -> None:
    engine = FakeEngine()
    text = "(a warm voice)nobody saw them go because everyone was still asleep"
    outcome = speak(tmp_path, engine, [job(tmp_path, "a", text, settings=Settings(max_chars=40))])["a"]
    assert [cue.text for cue in outcome.result.cues or ()] == [
        "nobody saw them go because",
        "everyone was still asleep",
    ]
    assert [spoken(request).strip("egh") for request in engine.requests] == [
        "(a warm voice)nobody saw them go because,",
        "(a warm voice)everyone was still asleep.",
    ]
    assert outcome.result.description == "a warm voice"


def test_the_settings_reach_the_engine(tmp_path: Path) -> None:
    engine = FakeEngine()
    settings = Settings(seed=5, cfg=1.5, steps=6, min_seconds=1.0, max_seconds=4.0)
    outcome = speak(tmp_path, engine, [job(tmp_path, "a", "Hello.", settings=settings)])["a"]
    sampling = engine.requests[0].sampling
    assert (sampling.seed, sampling.cfg, sampling.steps) == (5, 1.5, 6)
    assert sampling.max_len == 25  # 4 s / 0.16 s
    assert sampling.min_len + 2 == 7  # at least 1 s, in whole patches
    assert outcome.result.seed == 5


@pytest.mark.parametrize("seconds", [1.0, 20.0, 400.0])
def test_the_rails_of_the_engine_lie_beyond_the_shortest_length(tmp_path: Path, seconds: float) -> None:
    engine = FakeEngine()
    speak(tmp_path, engine, [job(tmp_path, "a", "Hi.", settings=Settings(min_seconds=seconds))])
    (request,) = engine.requests
    sampling, tokens, shortest = request.sampling, request.prompt.target_tokens, seconds / PATCH_S
    assert sampling.min_len + 2 == math.ceil(shortest)
    assert min(int(tokens * sampling.ratio + 10), sampling.max_len) > 1.4 * shortest
    assert tokens * sampling.ratio > 1.4 * shortest, "must not count as a bad case and be retried"
    if seconds == 1.0:
        assert sampling.ratio == Sampling.ratio, "the default limits reach that far"


def test_a_file_has_the_rate_and_the_level_asked_for(tmp_path: Path) -> None:
    settings = Settings(sample_rate=22_050, level=-26.0)
    result = speak(tmp_path, FakeEngine(), [job(tmp_path, "a", "Hello.", settings=settings)])["a"].result
    samples, rate = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert rate == result.sample_rate == 22_050
    assert len(samples) == 6 * round(PATCH_S * 22_050)
    assert result.duration_s == pytest.approx(6 * PATCH_S)
    assert active_rms(samples, rate) == pytest.approx(10 ** (-26 / 20), rel=0.01)


def test_a_rate_the_format_does_not_know_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"format ogg supports the sample rates 8000, .* not 44100"):
        Job("a", "Hello.", tmp_path / "a.ogg", "ogg", settings=Settings(sample_rate=44_100))


def test_a_length_limit_shows(tmp_path: Path) -> None:
    settings = Settings(max_seconds=1.0)
    result = speak(tmp_path, FakeEngine(), [job(tmp_path, "a", "Longer than that.", settings=settings)])["a"].result
    assert result.stop_reason == "length"
    assert result.duration_s == pytest.approx(6 * PATCH_S)


def test_without_a_seed_one_is_drawn_and_recorded(tmp_path: Path) -> None:
    engine = FakeEngine()
    outcomes = speak(tmp_path, engine, [job(tmp_path, name, "Hello.") for name in ("a", "b")])
    seeds = {outcome.result.seed for outcome in outcomes.values()}
    assert seeds == {request.sampling.seed for request in engine.requests}
    assert len(seeds) == 2


def test_pieces_of_a_long_text_share_seed_and_the_voice_of_the_first(tmp_path: Path) -> None:
    engine = FakeEngine()
    long = job(tmp_path, "long", LONG, settings=Settings(max_chars=30, seed=7))
    result = speak(tmp_path, engine, [long, job(tmp_path, "short", "Hello.")])["long"].result
    first, *others = sorted((r for r in engine.requests if r.request_id.startswith("long")), key=lambda r: r.request_id)
    assert len(others) == 3
    assert len(first.prompt.patches) == 0
    for request in others:
        assert spoken(request).endswith("The wind came over the hill.e")  # "e" is 101, where audio starts
        assert request.sampling.seed == 7
        assert len(request.prompt.patches) == len("The wind came over the hill.")
        assert float(request.prompt.patches.max()) == 7.0
    assert result.patches == 4 * len("The wind came over the hill.")
    assert result.duration_s is not None
    assert result.duration_s > result.patches * PATCH_S  # pauses included
    assert result.seed == 7


def test_the_results_tell_when_which_words_are_heard(tmp_path: Path) -> None:
    text = "(a warm voice)One two three four. Five six seven."
    speak(tmp_path, FakeEngine(), [job(tmp_path, "a", text, settings=Settings(max_chars=20))])
    (line,) = logged(tmp_path)
    described = len("(a warm voice)One two three four.") * PATCH_S  # the fake engine speaks each character of a request
    assert line["cues"] == [
        [0.0, pytest.approx(described), "One two three four."],
        [pytest.approx(described + SENTENCE_PAUSE_S), pytest.approx(line["duration_s"]), "Five six seven."],
    ]


def test_pieces_with_a_voice_of_their_own_wait_for_nobody(tmp_path: Path) -> None:
    engine = FakeEngine()
    ref = voice(tmp_path / "v.wav")
    speak(tmp_path, engine, [job(tmp_path, "a", LONG, ref=ref, settings=Settings(max_chars=30))])
    assert [len(request.prompt.patches) for request in engine.requests] == [2, 2, 2, 2]


@pytest.mark.parametrize(("shortest", "longest"), [(5.0, 5.05), (4.9, 4.97), (1.0, 1.01), (3.2, 3.21)])
def test_a_file_is_no_shorter_than_asked_for_where_patches_do_not_fit_the_limit(
    tmp_path: Path, shortest: float, longest: float
) -> None:
    settings = Settings(min_seconds=shortest, max_seconds=longest)
    engine = FakeEngine()
    outcomes = speak(tmp_path, engine, [job(tmp_path, "a", "Hello there, everybody. " * 5, settings=settings)])
    assert engine.requests[0].sampling.max_len == math.ceil(shortest / PATCH_S - 1e-6)
    assert shortest <= soundfile.info(tmp_path / "a.wav").duration <= longest
    assert outcomes["a"].result.duration_s == pytest.approx(min(longest, math.ceil(shortest / PATCH_S) * PATCH_S))


def test_max_seconds_bounds_the_joined_pieces_too(tmp_path: Path) -> None:
    settings = Settings(max_chars=30, max_seconds=6.0)
    result = speak(tmp_path, FakeEngine(), [job(tmp_path, "a", LONG, settings=settings)])["a"].result
    assert result.duration_s == pytest.approx(6.0)
    assert result.stop_reason == "length"


def test_voices_go_to_their_own_lines_and_are_encoded_once(tmp_path: Path) -> None:
    engine = FakeEngine()
    loud, low = voice(tmp_path / "loud.wav", 0.9), voice(tmp_path / "low.wav", 0.2)
    jobs = [job(tmp_path, f"{n}", f"Hello {n}.", ref=(loud, low)[n % 2]) for n in range(6)]
    speak(tmp_path, engine, jobs)
    assert len(engine.encoded) == 2
    for request in engine.requests:
        level = float(request.prompt.patches[0, 0, 0])
        assert level == pytest.approx(0.2 if int(request.request_id.split("#")[0]) % 2 else 0.9, abs=0.01)


def test_a_continuation_is_padded_on_the_left_and_reads_both_texts(tmp_path: Path) -> None:
    engine = FakeEngine()
    prompt = voice(tmp_path / "p.wav")
    speak(tmp_path, engine, [job(tmp_path, "a", "And on.", prompt_audio=prompt, prompt_text="So it went")])
    assert [padding for _, padding in engine.encoded] == ["left"]
    (request,) = engine.requests
    assert request.prompt.continues
    assert spoken(request) == "So it went And on.e"
    assert request.prompt.target_tokens == len("And on.")


def test_a_voice_that_breaks_between_plan_and_use_fails_its_lines_only(tmp_path: Path) -> None:
    ref = voice(tmp_path / "v.wav")
    plan = make_plan([job(tmp_path, "a", "Hello.", ref=ref), job(tmp_path, "b", "Hello.")])
    ref.write_bytes(b"no longer audio")
    session = Session(cast(Engine, FakeEngine()), plan.utterances, tmp_path, log=None, notify=lambda remark: None)
    outcomes = {outcome.job.id: outcome for outcome in session.run()}
    assert outcomes["b"].result.ok
    assert "v.wav" in (outcomes["a"].result.error or "")
    assert outcomes["a"].error is not None
    assert outcomes["a"].error.exit_code == 2


def test_a_failed_request_fails_its_job_and_the_rest_run(tmp_path: Path) -> None:
    outcomes = speak(
        tmp_path,
        FakeEngine(fails={"b#0": "no finite patch"}),
        [job(tmp_path, name, "Hello.") for name in ("a", "b", "c")],
    )
    assert [name for name, outcome in outcomes.items() if not outcome.result.ok] == ["b"]
    assert outcomes["b"].result.error == "no finite patch"
    assert isinstance(outcomes["b"].error, SynthesisError)
    assert not (tmp_path / "b.wav").exists()
    assert len(logged(tmp_path)) == 3


def test_a_failed_piece_ends_the_whole_job_once(tmp_path: Path) -> None:
    engine = FakeEngine(rows=2, fails={"a#1": "no finite patch"})
    ref = voice(tmp_path / "v.wav")
    outcomes = speak(tmp_path, engine, [job(tmp_path, "a", LONG, ref=ref, settings=Settings(max_chars=30))])
    assert [line["status"] for line in logged(tmp_path)] == ["failed"]
    assert not outcomes["a"].result.ok
    assert engine.cancelled == ["a#0"]  # the running segment; later segments are not even requested
    assert [request.request_id for request in engine.requests] == ["a#0", "a#1"]


def test_a_file_that_can_not_be_written_fails_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.wav").mkdir()
    outcomes = speak(tmp_path, FakeEngine(), [job(tmp_path, "a", "Hello."), job(tmp_path, "b", "Hello.")])
    assert isinstance(outcomes["a"].error, OutputError)
    assert outcomes["b"].result.ok


@pytest.mark.parametrize(("module", "stage"), [(take_module, "build_prompt"), (finish_module, "write_audio")])
def test_an_unexpected_error_ends_only_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, stage: str
) -> None:
    real = getattr(module, stage)

    def fail_once(*args: Any, **values: Any) -> Any:
        monkeypatch.setattr(module, stage, real)
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(module, stage, fail_once)
    outcomes = speak(tmp_path, FakeEngine(), [job(tmp_path, name, "Hello.") for name in ("a", "b", "c")])
    (failed,) = [outcome for outcome in outcomes.values() if not outcome.result.ok]
    assert failed.result.error == "unexpected ZeroDivisionError: by zero"
    assert len(logged(tmp_path)) == 3


def test_results_that_can_not_be_recorded_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(log: ResultLog, result: object) -> None:
        raise OutputError("no space left on device")

    monkeypatch.setattr(ResultLog, "append", full)
    with pytest.raises(OutputError, match="no space left"):
        speak(tmp_path, FakeEngine(), [job(tmp_path, "a", "Hello.")])


def test_conversions_of_a_voice_are_reported_once(tmp_path: Path) -> None:
    stereo = np.sin(np.arange(44_100 * 2) / 20).astype(np.float32) * 0.3
    soundfile.write(tmp_path / "v.wav", np.stack([stereo, stereo], 1), 44_100)
    remarks: list[str] = []
    speak(tmp_path, FakeEngine(), [job(tmp_path, n, "Hello.", ref=tmp_path / "v.wav") for n in ("a", "b")], remarks)
    assert len(remarks) == 1
    assert "v.wav: " in remarks[0]


def test_a_device_that_breaks_at_a_voice_fails_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: FakeEngine, samples: object, *, key: str, padding: str) -> torch.Tensor:
        raise DeviceError("cuda:0 no longer works")

    monkeypatch.setattr(FakeEngine, "encode_voice", broken)
    ref = voice(tmp_path / "v.wav")
    with pytest.raises(DeviceError):
        speak(tmp_path, FakeEngine(), [job(tmp_path, str(n), "Hello.", ref=ref) for n in range(9)])
    assert logged(tmp_path) == []


def test_leaving_early_writes_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "backlog", 1)  # wait for each file
    plan = make_plan([job(tmp_path, str(n), "Hello.") for n in range(60)])
    with ResultLog(tmp_path) as log:
        session = Session(cast(Engine, FakeEngine()), plan.utterances, tmp_path, log=log, notify=lambda remark: None)
        run = session.run()
        next(run)
        run.close()
    done = logged(tmp_path)
    assert 1 <= len(done) < 60
    assert all((tmp_path / line["out"]).is_file() for line in done)


class Doubtful(FakeEngine):
    """An engine whose clips are bad cases, cut off, with trailing silence."""

    def _clip(self, request: Request) -> Clip:
        clip = super()._clip(request)
        assert clip.audio is not None
        clip.audio = np.concatenate((clip.audio, np.zeros(round(1.5 * RATE), np.float32)))
        clip.stop_reason, clip.attempts, clip.bad_case = "length", 3, True
        return clip


def test_doubtful_clips_get_warnings(tmp_path: Path) -> None:
    result = speak(tmp_path, Doubtful(), [job(tmp_path, "a", "Hello.")])["a"].result
    assert result.warnings == (
        "cut off at a length limit",
        "far too long for its text, even after 3 attempts",
        "1.5 s of trailing silence",
    )
    runic = speak(tmp_path, FakeEngine(), [job(tmp_path, "b", "Hello \u16a0\u16a2\u16a6.")])["b"].result
    assert runic.warnings == ("VoxCPM2 does not speak Runic",)


class Silent(FakeEngine):
    """An engine whose clips end with three seconds of silence, hit the length limit and are bad cases."""

    def _clip(self, request: Request) -> Clip:
        clip = super()._clip(request)
        assert clip.audio is not None and clip.latents is not None
        clip.audio = np.concatenate((clip.audio, np.zeros(3 * RATE, np.float32)))
        clip.latents = torch.cat((clip.latents, torch.zeros(19, *PATCH_SHAPE)))
        clip.stop_reason, clip.attempts, clip.bad_case, clip.patches = "length", 3, True, len(clip.latents)
        return clip


def test_a_clip_that_ran_on_in_silence_is_whole_and_the_silence_goes(tmp_path: Path) -> None:
    result = speak(tmp_path, Silent(), [job(tmp_path, "a", "Hello.")])["a"].result
    assert (result.stop_reason, result.attempts, result.patches) == ("silence", 3, 25)
    assert result.duration_s == pytest.approx(6 * PATCH_S + KEPT_S, abs=FRAME_S)
    assert result.warnings == ("2.7 s of trailing silence removed: the model did not stop by itself",)
    assert soundfile.info(tmp_path / "a.wav").duration == pytest.approx(result.duration_s, abs=1e-3)
    assert result.cues is not None and result.cues[0].end == result.duration_s


def test_a_silent_run_does_not_become_part_of_the_voice_of_later_pieces(tmp_path: Path) -> None:
    engine = Silent()
    long = job(tmp_path, "a", LONG, settings=Settings(max_chars=30, seed=7))
    result = speak(tmp_path, engine, [long])["a"].result
    assert result.stop_reason == "silence"
    assert result.warnings == ("10.8 s of trailing silence removed: the model did not stop by itself",)
    spoken_patches = len("The wind came over the hill.")
    for request in engine.requests[1:]:
        assert spoken_patches < len(request.prompt.patches) <= spoken_patches + 3


def test_silence_that_was_asked_for_stays(tmp_path: Path) -> None:
    asked = Settings(min_seconds=3.0)
    result = speak(tmp_path, Silent(), [job(tmp_path, "a", "Hello.", settings=asked)])["a"].result
    assert result.stop_reason == "length"
    assert result.duration_s == pytest.approx(6 * PATCH_S + 3)


def test_of_several_stop_reasons_the_worst_is_reported(tmp_path: Path) -> None:
    class Mixed(Silent):
        def _clip(self, request: Request) -> Clip:
            clip = super()._clip(request)
            assert clip.audio is not None
            if request.request_id.endswith("#1"):  # cut off during speech
                clip.audio = np.full_like(clip.audio, 0.1)
            return clip

    result = speak(tmp_path, Mixed(), [job(tmp_path, "a", LONG, settings=Settings(max_chars=30))])["a"].result
    assert result.stop_reason == "length"
    assert [warning.split(" ")[0] for warning in result.warnings] == ["cut", "8.1", "far"]
