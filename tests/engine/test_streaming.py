from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.helpers import alone, request
from voxcli.engine import streaming
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request
from voxcli.engine.stream import ClipStream
from voxcli.engine.streaming import context_frames
from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.voxcpm2 import VoxCPM2

TEXTS = {"a": "a longer line of text", "b": "hello", "c": "hello world"}
LIMITS = {"a": 14, "b": 5, "c": 9}


class Heard(dict[str, list[np.ndarray]]):
    """Requests that stream into this dictionary."""

    def request(self, model: VoxCPM2, name: str, **settings: Any) -> Request:
        made = request(model, name, TEXTS[name], seed=ord(name), min_len=3, max_len=LIMITS[name], **settings)
        self[name] = []
        return Request(made.request_id, made.prompt, made.sampling, on_audio=self[name].append)

    def whole(self, name: str) -> np.ndarray:
        return np.concatenate(self[name])


def run(engine: Engine, requests: list[Request]) -> dict[str, Clip]:
    for each in requests:
        engine.add(each)
    clips: dict[str, Clip] = {}
    while engine.has_work:
        clips |= {clip.request_id: clip for clip in engine.step()}
    engine.check_integrity()
    assert not engine.streams.open and not len(engine.streams)
    return clips


def streamed_alone(model: VoxCPM2, asked: Request) -> np.ndarray:
    return np.concatenate(list(ClipStream(Engine(model), asked)))


@pytest.mark.parametrize("layout", ["zero-shot", "continuation"])
def test_streams_and_a_file_share_a_batch_and_none_hears_the_others(tiny_model: VoxCPM2, layout: str) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name, layout=layout) for name in TEXTS]
    file = request(tiny_model, "file", "hello there", seed=7, min_len=3, max_len=8)
    clips = run(Engine(tiny_model), [asked[0], file, *asked[1:]])
    for each in asked:
        whole = heard.whole(each.request_id)
        clip = clips[each.request_id]
        assert np.array_equal(whole, streamed_alone(tiny_model, each))
        assert clip.audio is None and len(whole) == clip.patches * tiny_model.patch_samples
        assert clip.latents is not None and len(clip.latents) == clip.patches
    assert np.array_equal(clips["file"].audio, alone(tiny_model, [file])["file"].audio)  # type: ignore[arg-type]


class Fused:
    """The decoder of whole clips, which a CPU does not use, and the number of pieces in each of its calls."""

    def __init__(self, model: VoxCPM2):
        self._decoder = ClipDecoder(model.audio_vae)
        self.bytes_per_frame = self._decoder.bytes_per_frame
        self.sizes: list[int] = []

    def __call__(self, latents: torch.Tensor) -> torch.Tensor:
        self.sizes.append(len(latents))
        return self._decoder(latents)


def as_on_cuda(model: VoxCPM2) -> tuple[Engine, Fused]:
    engine, fused = Engine(model), Fused(model)
    engine.audio.decoder.fused = fused  # type: ignore[assignment]
    return engine, fused


@pytest.mark.parametrize("layout", ["zero-shot", "continuation"])
def test_all_streams_are_decoded_in_one_call_a_step_and_equal_their_files(tiny_model: VoxCPM2, layout: str) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name, layout=layout) for name in TEXTS]
    engine, fused = as_on_cuda(tiny_model)
    clips = run(engine, asked)
    assert len(fused.sizes) <= max(clip.patches for clip in clips.values()), "at most one a step"
    assert fused.sizes[0] == 3 and fused.sizes[-1] == 1
    files, _ = as_on_cuda(tiny_model)
    for each in asked:
        [file] = list(files.generate([Request(each.request_id, each.prompt, each.sampling)]))
        np.testing.assert_allclose(heard.whole(each.request_id), file.audio, atol=1e-6)


def test_pieces_grow_when_the_listener_has_enough(tiny_model: VoxCPM2) -> None:
    heard = Heard()
    engine, _ = as_on_cuda(tiny_model)
    clip = run(engine, [heard.request(tiny_model, "a")])["a"]
    patches = [len(block) // tiny_model.patch_samples for block in heard["a"]]
    assert clip.patches == 14 and patches == [1, 1, 1, 1, 2, 2, 4, 2]


@pytest.mark.parametrize("bytes_per_call", [1, 10**12])
def test_calls_are_bounded_by_memory(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch, bytes_per_call: int) -> None:
    monkeypatch.setattr(streaming, "MAX_CALL_BYTES", bytes_per_call)
    heard = Heard()
    engine, fused = as_on_cuda(tiny_model)
    run(engine, [heard.request(tiny_model, name) for name in TEXTS])
    assert max(fused.sizes) == (1 if bytes_per_call == 1 else 3)


def test_no_sample_depends_on_what_lies_before_the_context(tiny_model: VoxCPM2) -> None:
    """With one frame less some would: the number is exact."""
    frames, size = context_frames(tiny_model), tiny_model.config.patch_size
    decoder = ClipDecoder(tiny_model.audio_vae)
    latents = torch.randn(1, frames + 2 * size, tiny_model.config.feat_dim, generator=torch.Generator().manual_seed(1))
    hop = tiny_model.patch_samples // size
    with torch.inference_mode():
        whole = decoder(latents)[0]
        changed = latents.clone()
        changed[0, size - 1] += 10
        differs = (decoder(changed)[0] - whole).abs() > 0
    last = int(differs.nonzero().max())
    assert last // hop - (size - 1) <= frames, "the last frame that the change reaches"
    assert last // hop - (size - 1) >= frames - 1


def test_a_stream_that_gave_way_goes_on_where_it_was(tiny_model: VoxCPM2) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    engine = Engine(tiny_model, EngineConfig(max_batch=3, pages=32))
    for each in asked:
        engine.add(each)
    for _ in range(3):
        engine.step()
    with torch.inference_mode():
        engine._preempt(engine.scheduler.running[-1])
    clips = run(engine, [])
    assert engine.counters.preemptions == 1
    for name in TEXTS:
        assert len(heard.whole(name)) == clips[name].patches * tiny_model.patch_samples
        np.testing.assert_allclose(heard.whole(name), streamed_alone(tiny_model, asked[ord(name) - 97]), atol=1e-4)


def test_a_cancelled_stream_is_heard_no_more_and_leaves_nothing(tiny_model: VoxCPM2) -> None:
    heard = Heard()
    engine = Engine(tiny_model)
    engine.add(heard.request(tiny_model, "a"))
    engine.step()
    before = len(heard["a"])
    assert before == 1
    engine.cancel("a")
    clips = run(engine, [])
    assert clips["a"].stop_reason == "cancelled" and len(heard["a"]) == before


def test_a_decode_that_fails_is_run_again_for_each_stream_alone(tiny_model: VoxCPM2) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    engine, fused = as_on_cuda(tiny_model)
    decode = fused._decoder

    def failing(latents: torch.Tensor) -> torch.Tensor:
        if len(latents) > 1:
            raise RuntimeError("no such kernel")
        return decode(latents)

    fused._decoder = failing  # type: ignore[assignment]
    clips = run(engine, asked)
    for each in asked:
        whole = heard.whole(each.request_id)
        assert len(whole) == clips[each.request_id].patches * tiny_model.patch_samples
        np.testing.assert_allclose(whole, streamed_alone(tiny_model, each), atol=1e-4)


def test_audio_that_16_bit_has_no_room_for_is_decoded_in_float32(tiny_model: VoxCPM2) -> None:
    heard = Heard()
    asked = heard.request(tiny_model, "a")
    engine, fused = as_on_cuda(tiny_model)
    decode = fused._decoder

    def overflowing(latents: torch.Tensor) -> torch.Tensor:
        audio = decode(latents)
        return audio.fill_(torch.inf) if len(fused.sizes) == 3 else audio

    fused._decoder = overflowing  # type: ignore[assignment]
    run(engine, [asked])
    np.testing.assert_allclose(heard.whole("a"), streamed_alone(tiny_model, asked), atol=1e-4)


def test_audio_that_is_not_finite_ends_its_stream_alone(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    decode = tiny_model.audio_vae.decode
    calls = 0

    def broken(latents: torch.Tensor, state: Any = None) -> torch.Tensor:
        nonlocal calls
        calls += 1
        audio = decode(latents, state)
        return audio.fill_(torch.nan) if calls == 5 else audio  # the second patch of the second stream

    monkeypatch.setattr(tiny_model.audio_vae, "decode", broken)
    clips = run(Engine(tiny_model), asked)
    failed = [clip for clip in clips.values() if clip.stop_reason == "error"]
    assert [clip.error for clip in failed] == ["the model produced audio that is not finite"]
    assert len(heard[failed[0].request_id]) == 1
    assert all(np.isfinite(heard.whole(name)).all() for name in TEXTS)


def test_a_listener_that_raises_ends_its_stream_alone(tiny_model: VoxCPM2) -> None:
    def broken(samples: np.ndarray) -> None:
        raise ValueError("no room")

    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    asked[0] = replace(asked[0], on_audio=broken)
    clips = run(Engine(tiny_model), asked)
    errors = {clip.request_id: clip.error for clip in clips.values() if clip.error}
    assert errors == {asked[0].request_id: "its audio could not be used: ValueError: no room"}
    assert set(clips) == {each.request_id for each in asked}
