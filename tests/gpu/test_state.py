"""A GPU's block table follows the CPU's, whatever was handed out between two steps."""

from __future__ import annotations

import random

import pytest
import torch

from tests.checkpoints import write_checkpoint
from voxcli.engine.state import StateTable
from voxcli.model.weights import load_model

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def test_block_tables_are_equal_after_each_sync(tmp_path_factory: pytest.TempPathFactory) -> None:
    model = load_model(write_checkpoint(tmp_path_factory.mktemp("state") / "tiny"), device="cuda")
    state = StateTable(model, 8)
    draw = random.Random(0)
    places = state.host_table.shape[1]
    for _ in range(50):
        for _ in range(draw.randrange(6)):  # some places more than once, as when a row is given to another request
            start = draw.randrange(min(places, 6))
            pages = [draw.randrange(1, 100) for _ in range(draw.randrange(1, min(places, 6) - start + 1))]
            state.set_pages(draw.randrange(1, 9), start, pages)
        state.sync()
        assert torch.equal(state.block_table.cpu(), state.host_table)
