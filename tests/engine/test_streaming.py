from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.helpers import alone, request
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request
from voxcli.engine.stream import ClipStream
from voxcli.model import vaedecoder
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
    assert engine.streams.contexts.used == 0 and not len(engine.streams)
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


def test_all_streams_are_decoded_in_one_call_a_step(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    engine = Engine(tiny_model)
    engine.streams.together = True
    sizes: list[int] = []
    decode = tiny_model.audio_vae.decode

    def counted(latents: torch.Tensor, state: Any = None) -> torch.Tensor:
        sizes.append(len(latents))
        return decode(latents, state)

    monkeypatch.setattr(tiny_model.audio_vae, "decode", counted)
    clips = run(engine, asked)
    monkeypatch.undo()
    assert len(sizes) == max(clip.patches for clip in clips.values()), "a call for each patch of the longest"
    assert sizes[0] == 3 and sizes[-1] == 1
    for each in asked:
        expected = streamed_alone(tiny_model, each)
        np.testing.assert_allclose(heard.whole(each.request_id), expected, atol=1e-5)


def test_more_streams_than_there_was_room_for_at_first(tiny_model: VoxCPM2) -> None:
    heard: dict[str, list[np.ndarray]] = {str(seed): [] for seed in range(9)}
    asked = {}
    for name, blocks in heard.items():
        made = request(tiny_model, name, "hello", seed=int(name), min_len=3, max_len=5)
        asked[name] = Request(name, made.prompt, made.sampling, on_audio=blocks.append)
    run(Engine(tiny_model), list(asked.values()))
    for name, blocks in heard.items():
        assert np.array_equal(np.concatenate(blocks), streamed_alone(tiny_model, asked[name]))


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


def test_a_decode_that_fails_is_run_again_for_each_stream_alone(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    asked = [heard.request(tiny_model, name) for name in TEXTS]
    engine = Engine(tiny_model)
    engine.streams.together = True
    last = tiny_model.audio_vae.decoder.model[-1]
    convolve = vaedecoder._conv

    def failing(conv: Any, x: torch.Tensor) -> torch.Tensor:
        if conv is last and len(x) > 1:  # after all other contexts have been read and changed
            raise RuntimeError("no such kernel")
        return convolve(conv, x)

    monkeypatch.setattr(vaedecoder, "_conv", failing)
    run(engine, asked)
    monkeypatch.undo()
    for each in asked:
        assert np.array_equal(heard.whole(each.request_id), streamed_alone(tiny_model, each))


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
