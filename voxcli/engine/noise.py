"""The noise of one request, from its own generator on the CPU, so that it depends on the request's seed only.

It is drawn in blocks that equal one `torch.randn(feat_dim, patch_size)` per step, which is what the reference draws.
"""

from __future__ import annotations

import torch

BLOCK = 32  # patches per block, and the length of a row's noise ring


class NoiseSource:
    def __init__(self, seed: int, patch_shape: tuple[int, int]):
        self._generator = torch.Generator("cpu").manual_seed(seed)
        self._patch_size, self._feat_dim = patch_shape
        self._index = -1
        self._block = torch.empty(0)

    def block(self, index: int) -> torch.Tensor:
        """Return the noise of the patches from index * BLOCK on, float32[BLOCK, patch_size, feat_dim].

        Blocks must be requested in order. The last one can be requested again, because a preempted row may resume in
        the middle of it.
        """
        assert index in (self._index, self._index + 1), f"block {index} requested after block {self._index}"
        if index != self._index:
            self._index = index
            shape = (self._feat_dim, self._patch_size)
            if self._feat_dim * self._patch_size % 16 == 0:
                # torch draws normals in groups of sixteen, so one large draw equals several draws of this size
                drawn = torch.randn(BLOCK, *shape, generator=self._generator)
            else:
                drawn = torch.stack([torch.randn(*shape, generator=self._generator) for _ in range(BLOCK)])
            self._block = drawn.transpose(1, 2).contiguous()
        return self._block
