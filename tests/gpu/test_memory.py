"""Memory that runs out on a real card, with a model of full size."""

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
LESS, TRIES = 0.7, 12  # memory each time, until it is too little for all at once


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


def forget() -> None:
    """Engines of before are garbage that refers to itself, and hold a cache each."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def extra(model: VoxCPM2, count: int) -> int:
    """Bytes that the card gives while `count` requests at once run, beside what their engine takes when it is made."""
    forget()
    engine = Engine(model, EngineConfig(max_batch=count, pages=4096))
    before = torch.cuda.memory_reserved()
    run(engine, requests(model, count))
    return torch.cuda.max_memory_reserved() - before


def remarks_with(model: VoxCPM2, allowed: float) -> list[str]:
    """What an engine says that may take so many bytes beside its cache, while it makes MANY clips and loses none."""
    forget()
    torch.cuda.set_per_process_memory_fraction(1.0)
    said: list[str] = []
    engine = Engine(model, EngineConfig(max_batch=MANY, pages=4096), said.append)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + allowed) / total)
    clips = run(engine, requests(model, MANY))
    print(f"{allowed / 2**20:.0f} MiB for {MANY} requests: {said}")
    assert len(clips) == MANY
    assert {(clip.error, clip.patches) for clip in clips.values()} == {(None, PATCHES)}
    engine.check_integrity()
    assert bool(said) == bool(engine.counters.shrinks)
    return said


def test_memory_that_runs_out_halves_the_largest_bucket_and_loses_nothing(model: VoxCPM2, no_limit: None) -> None:
    extra(model, 1)  # libraries take their own memory when first used
    enough = extra(model, MANY)
    tries = (remarks_with(model, enough * LESS**less) for less in range(TRIES))
    said = next((said for said in tries if said), [])
    assert said and all(remark.startswith("out of memory with ") for remark in said)
