from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import soundfile
import torch

from tests.run.fakes import PATCH_SHAPE, RATE, FakeEngine
from voxcli.engine.engine import Engine
from voxcli.errors import AudioError, InputError
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance, make_plan
from voxcli.jobs.result import Outcome
from voxcli.run.session import Session
from voxcli.voices.prefetch import AHEAD, VoicePrefetcher
from voxcli.voices.store import VoiceInfo, write_voice

INFO = VoiceInfo(encoder="e1", recording="anna.wav", sha256="0" * 64, seconds=2.0, notes=("44.1 kHz -> 16 kHz",))


def recording(path: Path, loudness: float = 0.3, rate: int = RATE) -> Path:
    tone = np.sin(np.arange(rate * 2) / 20).astype(np.float32)
    soundfile.write(path, tone * loudness, rate)
    return path


def named(path: Path, text: str = "", encoder: str = "e1") -> Path:
    latents = {"reference": np.full((2, *PATCH_SHAPE), 3.0, np.float32)}
    if text:
        latents["prompt"] = np.full((2, *PATCH_SHAPE), 4.0, np.float32)
    write_voice(path, INFO.model_copy(update={"text": text, "encoder": encoder}), latents)
    return path


def utterances(*jobs: dict[str, Any]) -> list[Utterance]:
    plan = make_plan(Job(f"{n}", "Hello there.", Path(f"{n}.wav"), **values) for n, values in enumerate(jobs))
    assert not plan.refused
    return plan.utterances


def voices_of(engine: FakeEngine, todo: list[Utterance], notify: Any = lambda _: None) -> VoicePrefetcher:
    return VoicePrefetcher(
        cast(Engine, engine), [utterance.job for utterance in todo], encoder=lambda: "e1", notify=notify
    )


def test_a_voice_is_encoded_once_however_many_voices_there_are(tmp_path: Path) -> None:
    """Each of 100 voices is used at the start and at the end of the run."""
    paths = [recording(tmp_path / f"{n}.wav", 0.1 + n / 1000) for n in range(100)]
    todo = utterances(*({"ref": path} for path in [*paths, *paths]))
    engine = FakeEngine()
    with voices_of(engine, todo) as voices:
        encoded = [voices.of(utterance.job).reference for utterance in todo]
    assert len(engine.encoded) == 100
    for first, again, path in zip(encoded[:100], encoded[100:], paths, strict=True):
        assert first is not None and first is again
        assert float(first.max()) == pytest.approx(np.abs(soundfile.read(path)[0]).max(), abs=1e-6)
    assert not voices._encoded and not voices._coming, "after its last use a voice is dropped"


def test_on_cuda_the_thread_leaves_the_device_alone(tmp_path: Path) -> None:
    paths = [recording(tmp_path / f"{n}.wav", 0.1 + n / 100) for n in range(3)]
    todo = utterances(*({"ref": path} for path in [*paths, *paths]))

    class Watching(FakeEngine):
        def encode_voice(self, samples: np.ndarray, *, key: str, padding: str) -> torch.Tensor:
            assert threading.current_thread() is threading.main_thread()
            return super().encode_voice(samples, key=key, padding=padding)

    engine = Watching()
    engine.model.device = torch.device("cuda")
    with voices_of(engine, todo) as voices:
        encoded = [voices.of(utterance.job).reference for utterance in todo]
    assert len(engine.encoded) == 3
    assert all(first is not None and first is again for first, again in zip(encoded[:3], encoded[3:], strict=True))


def test_the_next_voices_are_encoded_ahead_and_no_more_than_that(tmp_path: Path) -> None:
    todo = utterances(*({"ref": recording(tmp_path / f"{n}.wav", 0.1 + n / 100)} for n in range(AHEAD + 6)))
    ready = threading.Semaphore(0)

    class Telling(FakeEngine):
        def encode_voice(self, samples: np.ndarray, *, key: str, padding: str) -> torch.Tensor:
            assert threading.current_thread() is not threading.main_thread()
            latents = super().encode_voice(samples, key=key, padding=padding)
            ready.release()
            return latents

    engine = Telling()
    with voices_of(engine, todo) as voices:
        voices.of(todo[0].job)
        for _ in range(1 + AHEAD):
            assert ready.acquire(timeout=10)
        assert not ready.acquire(timeout=0.2)
    assert len(engine.encoded) == 1 + AHEAD


def test_a_recording_may_be_a_reference_and_a_prompt(tmp_path: Path) -> None:
    path = recording(tmp_path / "v.wav")
    todo = utterances({"ref": path, "prompt_audio": path, "prompt_text": "Hm."})
    engine = FakeEngine()
    with voices_of(engine, todo) as voices:
        encoded = voices.of(todo[0].job)
    assert encoded.reference is not None and encoded.prompt is not None
    assert sorted(padding for _, padding in engine.encoded) == ["left", "right"]


def test_what_was_done_to_a_recording_is_told_once_and_noted_for_all(tmp_path: Path) -> None:
    path = recording(tmp_path / "v.wav", rate=44_100)
    todo = utterances({"ref": path}, {"ref": path}, {"voice": named(tmp_path / "anna.safetensors")})
    messages: list[str] = []
    with voices_of(FakeEngine(), todo, messages.append) as voices:
        notes = [voices.of(utterance.job).notes for utterance in todo]
    assert notes == [("44.1 kHz mono -> 16 kHz mono",)] * 2 + [INFO.notes]
    assert messages == [f"{path}: 44.1 kHz mono -> 16 kHz mono"], (
        "for a named voice they were reported when it was created"
    )


def test_a_recording_that_can_not_be_read_fails_those_who_need_it(tmp_path: Path) -> None:
    good, bad = recording(tmp_path / "good.wav"), recording(tmp_path / "bad.wav")
    todo = utterances({"ref": bad}, {"ref": good}, {"ref": bad})
    bad.write_text("no sound any more")
    with voices_of(FakeEngine(), todo) as voices:
        for utterance in (todo[0], todo[2]):
            with pytest.raises(AudioError, match=r"bad\.wav"):
                voices.of(utterance.job)
        assert voices.of(todo[1].job).reference is not None


def test_a_voice_of_another_model_is_refused_in_one_line(tmp_path: Path) -> None:
    todo = utterances({"voice": named(tmp_path / "anna.safetensors", encoder="e2")})
    with voices_of(FakeEngine(), todo) as voices, pytest.raises(AudioError) as caught:
        voices.of(todo[0].job)
    assert str(caught.value) == (
        "the voice 'anna' was made with another model; create it again from anna.wav "
        "with `voxcpm2 voices add anna --force --ref FILE`, or name its model with --model"
    )


def test_a_damaged_recording_of_a_voice_of_another_model_is_named(tmp_path: Path) -> None:
    path = tmp_path / "anna.safetensors"
    latents = {"reference": np.full((2, *PATCH_SHAPE), 3.0, np.float32)}
    write_voice(path, INFO.model_copy(update={"encoder": "e2"}), latents, b"fLaC no more")
    todo = utterances({"voice": path})
    with voices_of(FakeEngine(), todo) as voices, pytest.raises(AudioError, match=r"anna\.safetensors: not a sound"):
        voices.of(todo[0].job)


def test_a_named_voice_in_the_prompt(tmp_path: Path) -> None:
    """Without a transcript a named voice is a reference. With one it is continued, unless a manner is described."""
    plain, spoken = named(tmp_path / "plain.safetensors"), named(tmp_path / "spoken.safetensors", "Hm hm.")
    jobs = [
        Job("plain", "Hello.", tmp_path / "a.wav", voice=plain),
        Job("spoken", "Hello.", tmp_path / "b.wav", voice=spoken),
        Job("described", "Hello.", tmp_path / "c.wav", voice=spoken, control="warm"),
    ]
    engine = FakeEngine()
    outcomes = _run(engine, jobs, tmp_path)
    patches = {request.request_id: request.prompt.patches[:, 0, 0].tolist() for request in engine.requests}
    assert patches == {"plain#0": [3, 3], "spoken#0": [3, 3, 4, 4], "described#0": [3, 3]}
    prompts = {request.request_id: request.prompt for request in engine.requests}
    assert {name: prompt.continues for name, prompt in prompts.items()} == {
        "plain#0": False,
        "spoken#0": True,
        "described#0": False,
    }
    texts = {name: "".join(map(chr, p.token_ids[~p.is_audio].tolist())) for name, p in prompts.items()}
    assert "Hm hm. Hello." in texts["spoken#0"] and "Hm" not in texts["described#0"]
    assert outcomes["plain"].result.voice_notes == INFO.notes


def _run(engine: FakeEngine, jobs: list[Job], out: Path) -> dict[str, Outcome]:
    utterances = make_plan(jobs).utterances
    voices = VoicePrefetcher(
        cast(Engine, engine), [each.job for each in utterances], encoder=lambda: "e1", notify=lambda _: None
    )
    session = Session(cast(Engine, engine), utterances, out, log=None, notify=lambda _: None, voices=voices)
    return {outcome.job.id: outcome for outcome in session.run()}


def test_a_named_voice_and_a_recording_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="voice excludes ref and prompt_audio"):
        Job("a", "Hello.", tmp_path / "a.wav", voice=tmp_path / "x.safetensors", ref=tmp_path / "v.wav")
