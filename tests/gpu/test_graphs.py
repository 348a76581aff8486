"""Captured steps against eager ones on a GPU: every bucket, every number of rows, poisoned padding, many replays."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.checkpoints import write_checkpoint
from tests.engine.helpers import LAYOUTS, TEXTS, assert_same, mixed, request, run
from tests.engine.test_batching import poison_free
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.graphs import BUCKETS, Capturer
from voxcli.engine.request import Clip, Request
from voxcli.model.solver import SOLVERS
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU"),
]

# Head dimension 64, because that of the tiny model, 16, is too small for the fused local attention.
WIDE = {
    "lm_config.kv_channels": 64,
    "encoder_config.kv_channels": 64,
    "dit_config.kv_channels": 64,
    "lm_config.rope_scaling": {
        "type": "longrope",
        "long_factor": [1.0] * 32,
        "short_factor": [1.0] * 32,
        "original_max_position_embeddings": 512,
    },
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> VoxCPM2:
    folder: Path = write_checkpoint(
        tmp_path_factory.mktemp("gpu") / "wide", **{k: dict(v) if isinstance(v, dict) else v for k, v in WIDE.items()}
    )
    return load_model(folder, device="cuda")


def same_length_requests(model: VoxCPM2, count: int, patches: int) -> list:  # type: ignore[type-arg]
    return [
        request(model, f"{i}", "hello world", seed=i, voice=i, layout="reference", min_len=patches - 1, max_len=patches)
        for i in range(count)
    ]


@pytest.mark.parametrize("bucket", BUCKETS)
def test_replay_equals_eager_for_every_number_of_rows(model: VoxCPM2, bucket: int) -> None:
    below = max((b for b in BUCKETS if b < bucket), default=0)
    graphs = Engine(model, EngineConfig(max_batch=bucket))
    eager = Engine(model, EngineConfig(max_batch=bucket, graphs=False))
    assert graphs.runner.graphs is not None, "graphs need vLLM's attention"
    for count in range(below + 1, bucket + 1):
        requests = same_length_requests(model, count, 4)
        ours, theirs = run(graphs, requests), run(eager, requests)
        for name, clip in theirs.items():
            assert_same(ours[name], clip, 1e-6)


@pytest.mark.parametrize("steps", [2, 5, 10])
def test_replay_equals_eager_with_two_solvers_in_a_batch(model: VoxCPM2, steps: int) -> None:
    """All rows end in the same step, so the rows of each solver always run in the same bucket."""
    base = {"layout": "reference", "steps": steps, "min_len": 5, "max_len": 6, "attempts": 1}
    solvers = [SOLVERS[i % 2] for i in range(14)]
    requests = [request(model, f"{i}", "hello world", seed=i, voice=i, solver=s, **base) for i, s in enumerate(solvers)]
    others = [replace(one, sampling=replace(one.sampling, solver="euler")) for one in requests]
    captured, eager = (Engine(model, EngineConfig(max_batch=14, graphs=graphs)) for graphs in (True, False))
    ours, theirs, of_euler = run(captured, requests), run(eager, requests), run(eager, others)
    for i, solver in enumerate(solvers):
        assert_same(ours[f"{i}"], theirs[f"{i}"], 1e-6)
        if solver == "ab2":  # the solvers differ by more than rounding
            gap = (ours[f"{i}"].latents[0] - of_euler[f"{i}"].latents[0]).abs().max()  # type: ignore[index]
            assert gap > 0.02


def test_poisoned_rows_and_pages_change_nothing(model: VoxCPM2) -> None:
    def spoken(before_step: Callable[[Engine], None]) -> dict[str, Clip]:
        requests = mixed(model, 16)
        engine = Engine(model, EngineConfig(max_batch=5, pages=40))
        clips: dict[str, Clip] = {}
        while requests or engine.has_work:
            if requests:
                engine.add(requests.pop(0))
            before_step(engine)
            clips |= {clip.request_id: clip for clip in engine.step()}
        return clips

    clean, poisoned = spoken(lambda engine: None), spoken(poison_free)
    assert len(clean) == 16 and clean.keys() == poisoned.keys()
    for name, clip in clean.items():
        assert_same(poisoned[name], clip, 1e-6)


def test_a_prefill_is_the_same_before_and_after_its_capture(model: VoxCPM2) -> None:
    """All clips have the same length, solver steps and one attempt, so every step runs 16 rows in the bucket of 16.

    The bucket of fewer rows depends on the graphs captured before, and products of other sizes round differently.
    """
    sampling = {"min_len": 11, "max_len": 12, "attempts": 1}

    def requests() -> list[Request]:
        return [
            request(model, f"r{i}", TEXTS[i % 8], layout=LAYOUTS[i % 4], voice=i, seed=i, **sampling) for i in range(16)
        ]

    engine = Engine(model, EngineConfig(max_batch=16))
    first = run(engine, requests())
    assert engine.runner.prefill_graphs is not None and not engine.runner.prefill_graphs.sizes
    for _ in range(3):
        again = run(engine, requests())
        assert again.keys() == first.keys()
        for name, clip in first.items():
            assert clip.patches == 12
            assert_same(again[name], clip, 0)
    assert engine.runner.prefill_graphs.sizes


def test_a_thousand_replays_give_the_same_clips_and_take_no_memory(model: VoxCPM2) -> None:
    engine = Engine(model, EngineConfig(max_batch=8))
    requests = same_length_requests(model, 8, 20)
    for _ in range(5):  # the prefill is captured when its shape comes again
        first = run(engine, requests)
    assert engine.runner.prefill_graphs is not None and engine.runner.prefill_graphs.sizes
    gc.collect()  # garbage of earlier tests, freed meanwhile, would hide what is kept
    allocated = torch.cuda.memory_allocated()
    for _ in range(50):  # 20 replays each
        again = run(engine, requests)
        for name, clip in first.items():
            assert_same(again[name], clip, 1e-6)
    # Blocks last used on another stream are freed slightly later. Keeping one patch of each request would take 400 KiB.
    assert torch.cuda.memory_allocated() < allocated + 2**16


def test_garbage_with_graphs_in_it_does_not_break_a_capture(model: VoxCPM2) -> None:
    messages: list[str] = []
    capturer = Capturer(model.device, messages.append)
    numbers = torch.arange(4, device=model.device)
    calls = itertools.count()
    garbage: list[object] = [capturer.capture(lambda x: x + 1, (numbers,), "a", "b")]

    def work(x: torch.Tensor) -> torch.Tensor:
        if next(calls) == 2:  # the call of the capture, after two warm-ups
            garbage.append(list(garbage))
            garbage[-1].append(garbage[-1])  # type: ignore[attr-defined]
            garbage.clear()
            assert [[] for _ in range(1000)]  # triggers a collection
        return x + 2

    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        captured = capturer.capture(work, (numbers,), "c", "d")
    finally:
        gc.set_threshold(*thresholds)
    assert not messages
    assert captured is not None
    assert captured.replay(torch.tensor([5, 6, 7, 8])).tolist() == [7, 8, 9, 10]
