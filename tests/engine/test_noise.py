from __future__ import annotations

import pytest
import torch

from voxcli.engine.noise import BLOCK, NoiseSource


@pytest.mark.parametrize("patch_shape", [(4, 64), (4, 32), (2, 8), (2, 6), (3, 5), (1, 1)])
def test_blocks_equal_one_draw_per_step(patch_shape: tuple[int, int]) -> None:
    """The reference draws torch.randn(1, feat_dim, patch_size) from the seeded default generator in each step."""
    patch_size, feat_dim = patch_shape
    source = NoiseSource(7, patch_shape)
    drawn = torch.cat([source.block(i) for i in range(3)])
    torch.manual_seed(7)
    expected = torch.stack([torch.randn(1, feat_dim, patch_size)[0].T for _ in range(3 * BLOCK)])
    assert torch.equal(drawn, expected)


def test_the_current_block_can_be_requested_again() -> None:
    source = NoiseSource(1, (2, 8))
    first = source.block(0)
    assert torch.equal(source.block(0), first)
    assert not torch.equal(source.block(1), first)


def test_the_default_generator_is_not_affected() -> None:
    torch.manual_seed(3)
    expected = torch.randn(4)
    torch.manual_seed(3)
    NoiseSource(5, (4, 32)).block(0)
    assert torch.equal(torch.randn(4), expected)


def test_blocks_out_of_order_are_refused() -> None:
    with pytest.raises(AssertionError, match="block 2 requested after block -1"):
        NoiseSource(1, (2, 8)).block(2)
