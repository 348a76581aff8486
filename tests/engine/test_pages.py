from __future__ import annotations

import pytest
import torch

from tests.checkpoints import tiny_config
from voxcli.engine.pages import Cache, PagePool, pages_for
from voxcli.model.config import ModelConfig


@pytest.mark.parametrize(("positions", "pages"), [(0, 0), (1, 1), (16, 1), (17, 2), (160, 10)])
def test_pages_for(positions: int, pages: int) -> None:
    assert pages_for(positions) == pages


def test_allocate_and_release() -> None:
    pool = PagePool(5)
    first, second = pool.allocate(3), pool.allocate(1)
    assert sorted(first + second) == [1, 2, 3, 4], "page 0 is never allocated"
    assert not pool.can_allocate(1)
    with pytest.raises(AssertionError, match="1 pages requested, 0 free"):
        pool.allocate(1)
    pool.release(first)
    assert pool.free == 3
    pool.check_integrity(second)
    with pytest.raises(AssertionError, match="4 pages, but 3 free and 0 owned"):
        pool.check_integrity([])
    with pytest.raises(AssertionError, match="3 distinct"):
        pool.check_integrity([first[0]])


def test_page_bytes() -> None:
    config = ModelConfig.model_validate(tiny_config())
    cache = Cache.create(config, 10, torch.device("cpu"), torch.float32)
    total = sum(t.numel() * t.element_size() for t in (cache.base, cache.residual, cache.latents))
    assert total == 10 * Cache.page_bytes(config, torch.float32)
