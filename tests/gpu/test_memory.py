"""Running out of memory on a GPU, with a model of full size."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch

from tests.engine.helpers import request, run
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Request
from voxcli.model.config import ModelConfig
from voxcli.model.random import VOXCPM2, random_model
from voxcli.model.voxcpm2 import VoxCPM2

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU"),
]
MANY, PATCHES = 256, 6
FACTOR, TRIES = 0.7, 12  # by which the memory is reduced until it is too little for all requests at once


@pytest.fixture(scope="module")
def model() -> VoxCPM2:
    torch.manual_seed(0)
    return random_model(ModelConfig.model_validate(VOXCPM2), torch.device("cuda", 0), torch.bfloat16)


@pytest.fixture
def no_limit() -> Iterator[None]:
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


def requests(model: VoxCPM2, count: int) -> list[Request]:
    return [request(model, f"{i}", "hello", seed=i, min_len=PATCHES - 1, max_len=PATCHES) for i in range(count)]


def free_memory() -> None:
    """Collect the engines of earlier tests, which contain reference cycles and have a cache each."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def extra(model: VoxCPM2, count: int) -> int:
    """Return the bytes that running `count` concurrent requests takes in addition to the memory of a new engine."""
    free_memory()
    engine = Engine(model, EngineConfig(max_batch=count, pages=4096))
    before = torch.cuda.memory_reserved()
    run(engine, requests(model, count))
    return torch.cuda.max_memory_reserved() - before


def messages_with(model: VoxCPM2, allowed: float) -> list[str]:
    """Run MANY requests with `allowed` bytes beside the cache; none may fail. Returns the engine's messages."""
    free_memory()
    torch.cuda.set_per_process_memory_fraction(1.0)
    messages: list[str] = []
    engine = Engine(model, EngineConfig(max_batch=MANY, pages=4096), messages.append)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + allowed) / total)
    clips = run(engine, requests(model, MANY))
    print(f"{allowed / 2**20:.0f} MiB for {MANY} requests: {messages}")
    assert len(clips) == MANY
    assert {(clip.error, clip.patches) for clip in clips.values()} == {(None, PATCHES)}
    engine.check_integrity()
    assert bool(messages) == bool(engine.counters.shrinks)
    return messages


def test_running_out_of_memory_halves_the_batch_and_loses_no_request(model: VoxCPM2, no_limit: None) -> None:
    extra(model, 1)  # libraries allocate memory when first used
    enough = extra(model, MANY)
    tries = (messages_with(model, enough * FACTOR**exponent) for exponent in range(TRIES))
    messages = next((messages for messages in tries if messages), [])
    assert messages and all(message.startswith("out of memory with ") for message in messages)
