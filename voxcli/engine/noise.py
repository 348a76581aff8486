"""The noise of one request: its own generator on the CPU, whatever the device, the bucket or the neighbours.

Drawn in blocks, equal to one `torch.randn(feat_dim, patch_size)` a step in order, which is what the reference draws.
"""

from __future__ import annotations

import torch

BLOCK = 32  # patches drawn at a time, and the length of a row's noise ring


class NoiseSource:
    def __init__(self, seed: int, patch_shape: tuple[int, int]):
        self._generator = torch.Generator("cpu").manual_seed(seed)
        self._patch_size, self._feat_dim = patch_shape
        self._index = -1
        self._block = torch.empty(0)

    def block(self, index: int) -> torch.Tensor:
        """float32[BLOCK, patch_size, feat_dim]: the noise of patches index * BLOCK and on.

        Blocks are asked for in order; the last one can be had again: a preempted row goes on in the middle of it.
        """
        assert index in (self._index, self._index + 1), f"block {index} asked for after block {self._index}"
        if index != self._index:
            self._index = index
            shape = (self._feat_dim, self._patch_size)
            if self._feat_dim * self._patch_size % 16 == 0:
                # torch fills normals sixteen at a time, so one large draw equals many small ones of this size
                drawn = torch.randn(BLOCK, *shape, generator=self._generator)
            else:
                drawn = torch.stack([torch.randn(*shape, generator=self._generator) for _ in range(BLOCK)])
            self._block = drawn.transpose(1, 2).contiguous()
        return self._block
