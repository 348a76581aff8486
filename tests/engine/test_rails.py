"""Stop flags, length limits and retries; validation of requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.engine.helpers import alone, assert_same, request, run
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Request, Sampling
from voxcli.errors import RequestError
from voxcli.model.voxcpm2 import VoxCPM2


def with_stop_weights(model: VoxCPM2, stop: float) -> Iterator[VoxCPM2]:
    """Make all features of the stop head positive, with the weight `stop` for "stop" and 0 for "continue"."""
    head, bias = model.stop_head.weight.data, model.stop_proj.bias.data
    before = head.clone(), bias.clone()
    head[0], head[1] = 0, stop
    bias.fill_(50.0)
    yield model
    head.copy_(before[0])
    bias.copy_(before[1])


@pytest.fixture
def eager_stop(tiny_model: VoxCPM2) -> Iterator[VoxCPM2]:
    """The stop head fires at every step."""
    yield from with_stop_weights(tiny_model, 1.0)


@pytest.fixture
def never_stop(tiny_model: VoxCPM2) -> Iterator[VoxCPM2]:
    yield from with_stop_weights(tiny_model, -1.0)


@pytest.mark.parametrize(("min_len", "patches"), [(0, 2), (2, 4), (7, 9)])
@pytest.mark.parametrize("batch", [1, 3])
def test_the_stop_flag_is_ignored_up_to_min_len(eager_stop: VoxCPM2, min_len: int, patches: int, batch: int) -> None:
    clips = run(
        Engine(eager_stop), [request(eager_stop, f"{i}", "hello", seed=i, min_len=min_len) for i in range(batch)]
    )
    assert {clip.patches for clip in clips.values()} == {patches}
    assert {clip.stop_reason for clip in clips.values()} == {"stop"}


def test_clips_with_different_solver_steps_stop_at_the_first_allowed_patch(eager_stop: VoxCPM2) -> None:
    clips = run(Engine(eager_stop), [request(eager_stop, f"{i}", "hello", seed=i, steps=3 + i) for i in range(4)])
    assert {clip.patches for clip in clips.values()} == {4}


def test_the_length_limit_counts_target_tokens_only(never_stop: VoxCPM2) -> None:
    tokens = len(never_stop.tokenizer.encode("hi"))
    for layout in ("zero-shot", "continuation", "both"):
        clip = alone(never_stop, [request(never_stop, "a", "hi", layout=layout, seed=1, attempts=1)])["a"]
        assert (clip.patches, clip.stop_reason, clip.bad_case) == (6 * tokens + 10, "length", True)


def test_max_len_limits_a_clip(never_stop: VoxCPM2) -> None:
    clip = alone(never_stop, [request(never_stop, "a", "hello world", seed=1, max_len=5)])["a"]
    assert (clip.patches, clip.stop_reason, clip.attempts, clip.bad_case) == (5, "length", 1, False)


def test_the_context_limits_a_clip(never_stop: VoxCPM2) -> None:
    text = "a b c d e f g h " * 4
    clip = alone(never_stop, [request(never_stop, "a", text, seed=1, attempts=1)])["a"]
    prompt = len(never_stop.tokenizer.encode(text)) + 1
    assert (clip.patches, clip.stop_reason) == (256 - prompt, "length")


def test_a_bad_case_is_generated_again_with_the_next_seeds(never_stop: VoxCPM2) -> None:
    clip = alone(never_stop, [request(never_stop, "a", "hi", seed=5)])["a"]
    assert (clip.attempts, clip.seed, clip.bad_case, clip.stop_reason) == (3, 5, True, "length")
    third = alone(never_stop, [request(never_stop, "a", "hi", seed=7, attempts=1)])["a"]
    assert clip.latents is not None and third.latents is not None
    torch.testing.assert_close(clip.latents, third.latents, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("short_len", "bad"), [(0, False), (4, False), (5, True)])
def test_a_clip_too_short_for_its_text_is_generated_again_with_the_next_seeds(
    eager_stop: VoxCPM2, short_len: int, bad: bool
) -> None:
    """This model ends every clip after 4 patches."""
    clip = alone(eager_stop, [request(eager_stop, "a", "hello", seed=5, short_len=short_len)])["a"]
    assert (clip.patches, clip.seed, clip.stop_reason) == (4, 5, "stop")
    assert (clip.attempts, clip.bad_case, clip.too_short) == (3 if bad else 1, bad, bad)


def test_a_clip_ended_by_a_limit_is_not_too_short(never_stop: VoxCPM2) -> None:
    clip = alone(never_stop, [request(never_stop, "a", "hello world", seed=1, max_len=5, short_len=9)])["a"]
    assert (clip.patches, clip.attempts, clip.bad_case, clip.too_short) == (5, 1, False, False)


def test_a_retry_that_is_long_enough_is_kept(tiny_model: VoxCPM2) -> None:
    requests = [request(tiny_model, f"{seed}", "hello world", seed=seed, short_len=8) for seed in range(20)]
    clips = run(Engine(tiny_model), requests)
    again = [clip for clip in clips.values() if clip.attempts > 1 and not clip.bad_case]
    assert again, "some request should have been saved by a retry"
    assert all(clip.patches >= 8 for clip in again)


def test_a_retry_that_is_short_enough_is_kept(tiny_model: VoxCPM2) -> None:
    # With a ratio of 1 clips with at least as many patches as tokens are bad: some seeds pass, some do not.
    requests = [request(tiny_model, f"{seed}", "hello world", seed=seed, ratio=1.0) for seed in range(20)]
    clips = run(Engine(tiny_model), requests)
    again = [clip for clip in clips.values() if clip.attempts > 1 and not clip.bad_case]
    assert again, "some request should have been saved by a retry"
    for clip in again:
        seed = clip.seed + clip.attempts - 1
        kept = alone(tiny_model, [request(tiny_model, "x", "hello world", seed=seed, ratio=1.0, attempts=1)])["x"]
        assert clip.seed == int(clip.request_id)
        assert kept.patches == clip.patches
        torch.testing.assert_close(kept.latents, clip.latents, atol=1e-4, rtol=0)


def test_cfg_solver_and_steps_apply_to_every_patch(tiny_model: VoxCPM2) -> None:
    """Each setting changes the last patch, too."""
    base = dict(seed=3, max_len=12, min_len=11)
    requests = [
        request(tiny_model, "base", "hello", **base),
        request(tiny_model, "cfg", "hello", cfg=1.0, **base),
        request(tiny_model, "steps", "hello", steps=5, **base),
        request(tiny_model, "solver", "hello", solver="ab2", **base),
    ]
    together, single = run(Engine(tiny_model), requests), alone(tiny_model, requests)
    for name in ("base", "cfg", "steps", "solver"):
        assert_same(together[name], single[name])
    for name in ("cfg", "steps", "solver"):
        assert (together[name].latents[-1] - together["base"].latents[-1]).abs().max() > 1e-3  # type: ignore[index]


def test_with_two_steps_a_patch_is_not_noise(tiny_model: VoxCPM2) -> None:
    """With 2 steps the estimator runs once, because the first step has zero velocity."""
    clip = alone(tiny_model, [request(tiny_model, "a", "hello", seed=3, steps=2, max_len=4)])["a"]
    noise = torch.randn(8, 2, generator=torch.Generator().manual_seed(3)).T
    assert (clip.latents[0] - noise).abs().max() > 0.01  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 1}, "steps"),
        ({"solver": "heun"}, "solver must be one of euler, ab2, not 'heun'"),
        ({"steps": 0}, "steps"),
        ({"cfg": float("nan")}, "cfg"),
        ({"cfg": float("inf")}, "cfg"),
        ({"cfg": -0.1}, "cfg"),
        ({"min_len": 5, "max_len": 5}, "max_len"),
        ({"min_len": -1}, "min_len"),
        ({"attempts": 0}, "attempts"),
        ({"ratio": 0.0}, "ratio"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed must be a whole number, not 1.5"),
        ({"steps": 10.0}, "steps must be a whole number"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_invalid_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Sampling(**settings)


def test_invalid_requests_are_refused(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    engine.add(request(tiny_model, "a", "hello"))
    with pytest.raises(RequestError, match="'a' is already in use"):
        engine.add(request(tiny_model, "a", "world"))
    with pytest.raises(RequestError, match="must not be empty"):
        request(tiny_model, "", "hello")
    with pytest.raises(RequestError, match="shorter text or voice"):
        engine.add(request(tiny_model, "long", "word " * 200))
    with pytest.raises(RequestError, match="the text is empty"):
        request(tiny_model, "b", "")
    foreign = request(tiny_model, "c", "hello", layout="reference")
    foreign = Request(
        "c", type(foreign.prompt)(foreign.prompt.token_ids, foreign.prompt.is_audio, torch.zeros(3, 4, 32), 1)
    )
    with pytest.raises(RequestError, match="but the model needs"):
        engine.add(foreign)
    assert run(engine, []).keys() == {"a"}


def test_generate_returns_refused_requests_as_clips(tiny_model: VoxCPM2) -> None:
    requests = [request(tiny_model, "long", "word " * 200), request(tiny_model, "ok", "hello", max_len=4)]
    clips = run(Engine(tiny_model), requests)
    assert clips["long"].error is not None and "shorter text" in clips["long"].error
    assert clips["ok"].error is None


def test_an_id_can_be_used_again_after_its_clip_was_returned(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    first = run(engine, [request(tiny_model, "a", "hello", seed=1, max_len=6)])["a"]
    second = run(engine, [request(tiny_model, "a", "hello", seed=1, max_len=6)])["a"]
    assert_same(first, second, 0)


def test_a_random_seed_is_reported(tiny_model: VoxCPM2) -> None:
    clip = run(Engine(tiny_model), [request(tiny_model, "a", "hello world", max_len=6)])["a"]
    again = run(Engine(tiny_model), [request(tiny_model, "a", "hello world", seed=clip.seed, max_len=6)])["a"]
    assert_same(clip, again, 0)


def test_the_request_with_the_longest_text_is_admitted_first(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model, EngineConfig(max_batch=1, decode_clips=1))
    for name, text in (("short", "hi"), ("long", "a longer line of text"), ("middle", "hello world")):
        engine.add(request(tiny_model, name, text, seed=1, max_len=5))
    order = []
    while engine.has_work:
        order += [clip.request_id for clip in engine.step()]
    assert order == ["long", "middle", "short"]


def test_an_engine_without_requests(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    assert list(engine.generate([])) == []
    assert engine.step() == [] and not engine.has_work
