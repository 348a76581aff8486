from __future__ import annotations

import torch

from tests.checkpoints import tiny_config
from tests.engine.helpers import request, run
from voxcli.engine.engine import Engine
from voxcli.model.config import ModelConfig
from voxcli.model.random import byte_tokenizer, random_model


def test_a_random_model_runs_and_never_stops() -> None:
    torch.manual_seed(0)
    config = ModelConfig.model_validate(tiny_config())
    model = random_model(config, torch.device("cpu"), torch.float32)
    assert all(p.isfinite().all() for p in model.parameters())
    clip = run(Engine(model), [request(model, "a", "hello", seed=1, max_len=9)])["a"]
    assert (clip.patches, clip.stop_reason, clip.error) == (9, "length", None)


def test_the_byte_tokenizer_has_one_token_per_byte() -> None:
    assert byte_tokenizer().encode("hé") == [128 + byte for byte in "hé".encode()]
