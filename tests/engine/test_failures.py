"""Failures and cancelled requests: they do not affect other requests, and all rows and pages are freed."""

from __future__ import annotations

import errno
import random
from typing import Any

import pytest
import torch

from tests.engine.helpers import TEXTS, alone, assert_same, latents, request, run
from voxcli.engine import runner as runner_module
from voxcli.engine import transfer
from voxcli.engine.config import EngineConfig
from voxcli.engine.decode import AudioDecoder
from voxcli.engine.engine import Engine
from voxcli.engine.pages import Cache
from voxcli.engine.request import Request, Sampling
from voxcli.errors import DeviceError
from voxcli.model.config import ModelConfig
from voxcli.model.prompt import Prompt, build_prompt
from voxcli.model.voxcpm2 import VoxCPM2


def broken(model: VoxCPM2, request_id: str, seed: int) -> Request:
    """Return a request whose voice contains NaN, so that its first patch does, too."""
    voice = latents(model, 3, 1)
    voice[1] = float("nan")
    prompt = build_prompt(model.tokenizer, "hello world", patch_shape=model.patch_shape, reference=voice)
    return Request(request_id, prompt, Sampling(seed=seed))


def test_nan_ends_only_its_own_row(tiny_model: VoxCPM2) -> None:
    good = [request(tiny_model, f"g{i}", TEXTS[i], seed=i, max_len=20) for i in range(4)]
    clips = run(Engine(tiny_model), [good[0], broken(tiny_model, "bad", 1), *good[1:]])
    assert clips["bad"].error == "the model produced a patch that is not finite at step 0"
    assert clips["bad"].audio is None and clips["bad"].stop_reason == "error"
    for name, clip in alone(tiny_model, good).items():
        assert_same(clips[name], clip)


@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_an_exception_caused_by_one_row_ends_only_that_row(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    engine = Engine(tiny_model)
    real = getattr(engine.runner, stage)

    def fails_with_the_victim(what, *rest):  # type: ignore[no-untyped-def]
        rows = [chunk.row for chunk in what] if stage == "prefill" else what
        if engine.state.owned.get("victim") in rows:
            raise RuntimeError("a kernel\nfailed")
        return real(what, *rest)

    monkeypatch.setattr(engine.runner, stage, fails_with_the_victim)
    good = [request(tiny_model, f"g{i}", TEXTS[i], seed=i, max_len=20) for i in range(3)]
    clips = run(engine, [good[0], request(tiny_model, "victim", "hello", seed=1), *good[1:]])
    assert clips["victim"].error == "RuntimeError: a kernel failed"
    monkeypatch.undo()
    for name, clip in alone(tiny_model, good).items():
        assert_same(clips[name], clip)


@pytest.mark.parametrize("stage", ["prefill", "decode", "audio", "latents"])
def test_a_device_that_no_longer_works_fails_no_request(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Otherwise a GPU that fails during a batch would fail all remaining lines, one by one."""
    engine = Engine(tiny_model)
    owner, name = (engine.audio.decoder, "decode") if stage == "audio" else (engine.runner, stage)
    real, calls = getattr(owner, name), iter(range(1000))

    def breaks(*arguments):  # type: ignore[no-untyped-def]
        if next(calls) < 2 and stage != "audio":
            return real(*arguments)
        raise RuntimeError("CUDA error: an illegal memory access\nwas encountered")

    monkeypatch.setattr(owner, name, breaks)
    monkeypatch.setattr(transfer, "responds", lambda device: False)
    for n in range(6):
        engine.add(request(tiny_model, f"{n}", "hello world", seed=n, max_len=6 + n))
    with pytest.raises(DeviceError, match=r"^cpu no longer works \(RuntimeError: CUDA error: an illegal memory"):
        while engine.has_work:
            assert all(clip.error is None for clip in engine.step())
            if stage == "prefill":
                engine.add(request(tiny_model, f"late-{next(calls)}", "hello", seed=1, max_len=6))
    assert engine.has_work


def test_running_out_of_memory_is_not_a_device_failure(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    assert transfer.responds(torch.device("cpu"))
    monkeypatch.setattr(torch, "ones", raising(torch.OutOfMemoryError("no room")))
    assert transfer.responds(torch.device("meta")), "memory may become available again"
    monkeypatch.setattr(torch, "ones", raising(RuntimeError("CUDA error")))
    assert not transfer.responds(torch.device("meta"))


def raising(error: Exception):  # type: ignore[no-untyped-def]
    def function(*arguments: object, **values: object) -> None:
        raise error

    return function


def test_a_failed_audio_decode_ends_one_clip(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(tiny_model)
    real = engine.audio.decoder.decode

    def fails_at_eleven_patches(latents: list[torch.Tensor]) -> list[torch.Tensor]:
        if any(len(item) == 11 for item in latents):
            raise MemoryError("no room")
        return real(latents)

    monkeypatch.setattr(engine.audio.decoder, "decode", fails_at_eleven_patches)
    requests = [request(tiny_model, f"{n}", "hello", seed=n, min_len=n - 1, max_len=n) for n in (8, 11, 14)]
    clips = run(engine, requests)
    assert clips["11"].error == "audio decode failed: MemoryError: no room"
    assert [len(clips[n].audio) for n in ("8", "14")] == [n * tiny_model.patch_samples for n in (8, 14)]  # type: ignore[arg-type]


@pytest.mark.parametrize("recovers", [True, False])
def test_if_memory_runs_out_in_the_audio_decode_the_clip_waits_for_other_requests(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, recovers: bool
) -> None:
    """recovers: there is enough memory when a single request runs."""
    messages: list[str] = []
    engine = Engine(tiny_model, EngineConfig(max_batch=4, decode_clips=2), messages.append)
    real = engine.audio.decoder.decode

    def decode(latents: list[torch.Tensor]) -> list[torch.Tensor]:
        if len(engine.scheduler.running) > 1 or not recovers:
            raise torch.OutOfMemoryError("no room")
        return real(latents)

    monkeypatch.setattr(engine.audio.decoder, "decode", decode)
    lengths = (4, 7, 9, 11, 14, 16)
    requests = [request(tiny_model, f"{n}", "hello", seed=n, min_len=n - 1, max_len=n) for n in lengths]
    clips = run(engine, requests)
    assert clips.keys() == {f"{n}" for n in lengths}
    assert messages and all(message.startswith("out of memory with ") for message in messages)
    for name, clip in clips.items():
        if recovers:
            assert clip.error is None and len(clip.audio) == int(name) * tiny_model.patch_samples  # type: ignore[arg-type]
        else:
            assert clip.error == "audio decode failed: OutOfMemoryError: no room"
    engine.check_integrity()


@pytest.mark.parametrize("fails", [False, True])
def test_audio_that_overflows_in_16_bit_is_decoded_in_float32(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    engine = Engine(tiny_model)
    real = AudioDecoder(tiny_model, 16).decode

    def overflows(latents: list[torch.Tensor], *, exact: bool = False) -> list[torch.Tensor]:
        if exact and fails:
            raise MemoryError("no room")
        audio = real(latents)
        return audio if exact else [samples * torch.inf for samples in audio]

    monkeypatch.setattr(engine.audio.decoder, "decode", overflows)
    monkeypatch.setattr(engine.audio.decoder, "fused", object())
    loud = request(tiny_model, "loud", "hello", seed=1)
    [clip] = run(engine, [loud]).values()
    if fails:
        assert clip.error == "audio decode failed: MemoryError: no room"
    else:
        assert_same(clip, alone(tiny_model, [loud])["loud"], 0)


def test_cancel_of_waiting_running_and_unknown_requests(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model, EngineConfig(max_batch=1))
    engine.add(request(tiny_model, "runs", "hello world", seed=1, min_len=30, max_len=60))
    for _ in range(3):
        engine.step()
    engine.add(request(tiny_model, "waits", "hello", seed=1))
    assert engine.cancel("waits") and engine.cancel("runs")
    assert not engine.cancel("runs") and not engine.cancel("unknown")
    clips = run(engine, [request(tiny_model, "next", "hello", seed=4, max_len=6)])
    assert {name: clip.stop_reason for name, clip in clips.items()} == {
        "waits": "cancelled",
        "runs": "cancelled",
        "next": "length",
    }
    assert_same(clips["next"], alone(tiny_model, [request(tiny_model, "next", "hello", seed=4, max_len=6)])["next"])


def test_closing_generate_early_cancels_the_remaining_requests(tiny_model: VoxCPM2) -> None:
    # With groups of three clips, others are finished and wait for their audio when the first ones arrive.
    engine = Engine(tiny_model, EngineConfig(max_batch=4, decode_clips=3))
    clips = engine.generate(request(tiny_model, f"{i}", "hello", seed=i, max_len=4 + i % 3) for i in range(20))
    next(clips)
    clips.close()
    assert run(engine, []) == {}, "no clip is returned later"


@pytest.mark.parametrize(
    ("texts", "first", "rest"),
    [
        (("hi", "hello world hello"), "its own", ["added before"]),
        (("hello world hello", "hi"), "added before", []),  # its own is cancelled
    ],
)
def test_closing_generate_early_keeps_the_clips_of_other_callers(
    tiny_model: VoxCPM2, texts: tuple[str, str], first: str, rest: list[str]
) -> None:
    """Both clips end in the same step, the longer text first. The generator is closed between them."""
    engine = Engine(tiny_model)
    settings = {"seed": 3, "steps": 2, "min_len": 4, "max_len": 5, "attempts": 1}
    engine.add(request(tiny_model, "added before", texts[0], **settings))
    clips = engine.generate([request(tiny_model, "its own", texts[1], **settings)])
    assert next(clips).request_id == first
    clips.close()
    assert list(run(engine, [])) == rest


REQUESTS = 400


@pytest.mark.slow
def test_after_hundreds_of_requests_with_failures_and_cancels_everything_is_free(tiny_model: VoxCPM2) -> None:
    rng = random.Random(0)
    engine = Engine(tiny_model, EngineConfig(max_batch=32, pages=70, prefill_tokens=24))
    left, ended, alive = REQUESTS, {"stop": 0, "length": 0, "cancelled": 0, "error": 0}, set()
    while left or engine.has_work:
        for _ in range(min(left, rng.randrange(12))):
            left -= 1
            name = f"r{left}"
            if rng.random() < 0.2:
                engine.add(broken(tiny_model, name, left))
            else:
                layout = rng.choice(["zero-shot", "reference", "continuation", "both"])
                engine.add(
                    request(
                        tiny_model,
                        name,
                        rng.choice(TEXTS),
                        layout=layout,
                        voice=left,
                        seed=left,
                        steps=2,
                        max_len=rng.randint(4, 12),
                    )
                )
            alive.add(name)
        if alive and rng.random() < 0.3:
            engine.cancel(rng.choice(sorted(alive)))
        for clip in engine.step():
            alive.remove(clip.request_id)
            ended[clip.stop_reason] += 1
        engine.check_integrity()
    assert sum(ended.values()) == REQUESTS and not alive
    assert ended["error"] > 40 and ended["cancelled"] > 8 and ended["length"] > 40
    assert engine.state.free == 32 and engine.scheduler.pool.free == 70
    assert not engine._pending and not engine._ids and not len(engine.audio) and not engine._done


def test_the_engine_does_not_change_a_prompt(tiny_model: VoxCPM2) -> None:
    one = request(tiny_model, "a", "hello", layout="both", seed=1, max_len=8)
    before = Prompt(one.prompt.token_ids.clone(), one.prompt.is_audio.clone(), one.prompt.patches.clone(), 0)
    run(Engine(tiny_model), [one])
    assert torch.equal(one.prompt.token_ids, before.token_ids)
    assert torch.equal(one.prompt.is_audio, before.is_audio)
    assert torch.equal(one.prompt.patches, before.patches)


MEMORY_ERRORS = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory"),
    "cpu": RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 8 bytes"),
    "python": MemoryError(),
}


@pytest.mark.parametrize("kind", MEMORY_ERRORS)
@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_out_of_memory_halves_the_batch(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, stage: str, kind: str
) -> None:
    messages: list[str] = []
    engine = Engine(tiny_model, EngineConfig(max_batch=8), messages.append)
    real = getattr(engine.runner, stage)

    def memory_for_three(what, *rest):  # type: ignore[no-untyped-def]
        if len(what) > 3 and (stage == "prefill" or engine.state.patch_index.max() > 4):
            raise MEMORY_ERRORS[kind]
        return real(what, *rest)

    monkeypatch.setattr(engine.runner, stage, memory_for_three)
    requests = [request(tiny_model, f"{i}", "hello world", seed=i, min_len=9, max_len=12 + i) for i in range(8)]
    clips = run(engine, requests)
    assert messages == [
        "out of memory with 8 requests at once; continuing with 4",
        "out of memory with 4 requests at once; continuing with 2",
    ]
    monkeypatch.undo()
    for name, clip in alone(tiny_model, requests).items():
        assert_same(clips[name], clip)


def test_out_of_memory_in_one_of_two_groups_does_not_affect_the_other(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with other solver steps run in a separate call; some of them have just been preempted for the first."""
    engine = Engine(tiny_model, EngineConfig(max_batch=6))
    real, calls = runner_module.decode_step, iter(range(1000))

    def fails_once(*arguments):  # type: ignore[no-untyped-def]
        if next(calls) == 8:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(*arguments)

    monkeypatch.setattr(runner_module, "decode_step", fails_once)
    requests = [request(tiny_model, f"{n}", "hello world", seed=n, steps=3 + n % 2, max_len=12) for n in range(6)]
    clips = run(engine, requests)
    assert engine.counters.shrinks == 1
    monkeypatch.undo()
    for name, clip in alone(tiny_model, requests).items():
        assert_same(clips[name], clip)


def test_out_of_memory_with_one_request_ends_it(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(runner_module, "decode_step", fails)
    clip = run(Engine(tiny_model), [request(tiny_model, "a", "hello")])["a"]
    assert clip.error is not None and "CUDA out of memory" in clip.error


@pytest.mark.parametrize("max_batch", [None, 32])
def test_if_memory_is_short_tables_are_smaller_than_the_default(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, max_batch: int | None
) -> None:
    """But a number set by the user is not lowered."""
    real, tried = Cache.create, []

    def create(config: ModelConfig, pages: int, *rest: Any) -> Cache:
        tried.append(pages)
        if pages > 200:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return real(config, pages, *rest)

    monkeypatch.setattr(Cache, "create", create)
    if max_batch:
        with pytest.raises(OSError, match="Cannot allocate memory"):
            Engine(tiny_model, EngineConfig(max_batch=max_batch))
        return
    engine = Engine(tiny_model)
    assert (engine.scheduler.max_running, tried) == (8, [513, 257, 129])
    requests = [request(tiny_model, f"{n}", "hello world", seed=n, max_len=6) for n in range(9)]
    clips = run(engine, requests)
    monkeypatch.undo()
    for name, clip in alone(tiny_model, requests).items():
        assert_same(clips[name], clip)


@pytest.mark.parametrize(
    ("config", "rows", "pages"),
    [
        (EngineConfig(), 32, 32 * 16),
        (EngineConfig(requests=1), 1, 16),
        (EngineConfig(requests=3), 3, 3 * 16),
        (EngineConfig(requests=1000), 32, 32 * 16),
        (EngineConfig(requests=3, max_batch=8), 8, 3 * 16),
        (EngineConfig(requests=0), 1, 16),
    ],
)
def test_tables_are_no_larger_than_the_expected_requests_need(
    tiny_model: VoxCPM2, config: EngineConfig, rows: int, pages: int
) -> None:
    engine = Engine(tiny_model, config)
    assert (engine.scheduler.max_running, engine.scheduler.pool.total) == (rows, pages)
