"""The clip of a request does not depend on the other requests, its row, its pages or its time of arrival."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch

from tests.engine.helpers import alone, assert_same, mixed, request, run
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip
from voxcli.model.voxcpm2 import VoxCPM2

COUNT = 12


@pytest.fixture(scope="module")
def singles(tiny_model: VoxCPM2) -> dict[str, Clip]:
    clips = alone(tiny_model, mixed(tiny_model, COUNT))
    assert len({clip.patches for clip in clips.values()}) > 5, "rows should finish at many different steps"
    return clips


def check(clips: dict[str, Clip], singles: dict[str, Clip]) -> None:
    assert clips.keys() <= singles.keys()
    for request_id, clip in clips.items():
        assert_same(clip, singles[request_id])


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, COUNT])
def test_batch_equals_singles(tiny_model: VoxCPM2, singles: dict[str, Clip], count: int) -> None:
    clips = run(Engine(tiny_model), mixed(tiny_model, count))
    assert len(clips) == count
    check(clips, singles)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_time_of_arrival(tiny_model: VoxCPM2, singles: dict[str, Clip], seed: int) -> None:
    rng = random.Random(seed)
    requests = mixed(tiny_model, COUNT)
    rng.shuffle(requests)
    engine = Engine(tiny_model, EngineConfig(max_batch=rng.choice([3, 6, 16])))
    clips: dict[str, Clip] = {}
    while requests or engine.has_work:
        for _ in range(min(len(requests), rng.choice([0, 0, 1, 3]))):
            engine.add(requests.pop())
        clips |= {clip.request_id: clip for clip in engine.step()}
        engine.check_integrity()
    assert len(clips) == COUNT
    check(clips, singles)


@pytest.mark.parametrize("tokens", [1, 7, 16, 10_000])
def test_prefill_chunks_of_any_size(tiny_model: VoxCPM2, singles: dict[str, Clip], tokens: int) -> None:
    check(run(Engine(tiny_model, EngineConfig(prefill_tokens=tokens)), mixed(tiny_model, COUNT)), singles)


def test_preemption_changes_nothing(tiny_model: VoxCPM2, singles: dict[str, Clip]) -> None:
    # The longest request needs 6 pages; with 8 pages for eight rows there are many preemptions.
    engine = Engine(tiny_model, EngineConfig(max_batch=8, pages=8))
    check(run(engine, mixed(tiny_model, COUNT)), singles)
    assert engine.counters.preemptions > 3


def test_padding_to_buckets_changes_nothing(tiny_model: VoxCPM2, singles: dict[str, Clip]) -> None:
    check(run(Engine(tiny_model, EngineConfig(pad_to_bucket=True)), mixed(tiny_model, COUNT)), singles)


@pytest.mark.parametrize("pad", [False, True])
def test_poisoned_free_pages_and_rows_change_nothing(tiny_model: VoxCPM2, singles: dict[str, Clip], pad: bool) -> None:
    engine = Engine(tiny_model, EngineConfig(max_batch=5, pages=40, pad_to_bucket=pad))
    requests = mixed(tiny_model, COUNT)
    clips: dict[str, Clip] = {}
    while requests or engine.has_work:
        if requests:
            engine.add(requests.pop())
        poison_free(engine)
        clips |= {clip.request_id: clip for clip in engine.step()}
    check(clips, singles)


def poison_free(engine: Engine) -> None:
    """Write NaN everywhere that no running request may read: free pages, unused slots of owned pages, free rows."""
    cache, state = engine.cache, engine.state
    used = torch.zeros(len(cache.latents), dtype=torch.bool)
    for sequence in engine.scheduler.running:
        for position in range(sequence.prefilled if not sequence.patches else sequence.length):
            used[sequence.pages[position // 16] * 16 + position % 16] = True
    free_rows = [row for row in range(1, len(state.cfg)) if row not in state.owned.values()]
    for kv in (cache.base, cache.residual):
        kv.flatten(2, 3)[:, :, ~used] = float("nan")
    cache.latents[~used] = float("nan")
    for table in (state.mu, state.cond, state.noise, state.cfg):
        table[free_rows] = float("nan")


def test_the_audio_of_each_clip_has_the_length_of_its_patches(tiny_model: VoxCPM2) -> None:
    clips = run(Engine(tiny_model), mixed(tiny_model, COUNT))
    for clip in clips.values():
        assert clip.audio is not None
        assert len(clip.audio) == clip.patches * tiny_model.patch_samples
        assert clip.duration_s == pytest.approx(clip.patches * tiny_model.patch_s)


def test_no_clip_waits_for_others_to_be_decoded(tiny_model: VoxCPM2) -> None:
    """A CPU decodes clips one by one: a group of them has no advantage."""
    engine = Engine(tiny_model)
    asked = [request(tiny_model, str(i), "hello", seed=1, min_len=i, max_len=i + 1, attempts=1) for i in (4, 9, 14)]
    steps = [(clip.request_id, engine.counters.steps) for clip in engine.generate(asked)]
    assert [request_id for request_id, _ in steps] == ["4", "9", "14"]
    assert [after - before for (_, before), (_, after) in pairwise(steps)] == [5, 4], "the last wastes no step"


def test_a_late_prefill_does_not_affect_running_rows(tiny_model: VoxCPM2) -> None:
    early = request(tiny_model, "early", "hello world", seed=1, max_len=30, min_len=20)
    late = request(tiny_model, "late", "a longer line of text", layout="both", voice=3, seed=2, max_len=12)
    engine = Engine(tiny_model)
    engine.add(early)
    for _ in range(10):
        assert engine.step() == []
    clips = run(engine, [late])
    expected = alone(tiny_model, [early, late])
    for name in ("early", "late"):
        assert_same(clips[name], expected[name])


def test_each_request_keeps_its_voice(tiny_model: VoxCPM2) -> None:
    one = request(tiny_model, "one", "hello", layout="reference", voice=1, seed=5, max_len=12)
    two = request(tiny_model, "two", "hello", layout="reference", voice=2, seed=5, max_len=12)
    clips = run(Engine(tiny_model), [one, two])
    swapped = run(Engine(tiny_model), [two, one])
    assert_same(clips["one"], swapped["one"])
    assert_same(clips["two"], swapped["two"])
    n = min(clips["one"].patches, clips["two"].patches)
    assert (clips["one"].latents[:n] - clips["two"].latents[:n]).abs().max() > 0.01  # type: ignore[index]
