"""Pages: who owns which, and the memory they are.

`PagePool` is bookkeeping on the CPU and touches no tensor. `Cache` is the memory: keys and values of both LMs and, at
the same page and offset, the latents of the patch at that position. Page 0 belongs to the padding row for good.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.engine.zeros import lazy_zeros
from voxcli.model.config import ModelConfig

PAGE_SIZE = 16


def pages_for(positions: int) -> int:
    return -(-positions // PAGE_SIZE)


class PagePool:
    def __init__(self, pages: int):
        assert pages >= 2, "a pool needs the padding page and one more"
        self.total = pages - 1
        self._free = list(range(pages - 1, 0, -1))

    @property
    def free(self) -> int:
        return len(self._free)

    def can_allocate(self, count: int) -> bool:
        return count <= len(self._free)

    def allocate(self, count: int) -> list[int]:
        assert self.can_allocate(count), f"{count} pages asked for, {len(self._free)} free"
        return [self._free.pop() for _ in range(count)]

    def release(self, pages: list[int]) -> None:
        self._free.extend(reversed(pages))

    def check_integrity(self, owned: list[int]) -> None:
        """Every page is free or owned, once."""
        seen = sorted([*self._free, *owned])
        assert seen == list(range(1, self.total + 1)), (
            f"{self.total} pages, but {len(self._free)} free and {len(owned)} owned, {len(set(seen))} distinct"
        )


@dataclass(frozen=True, eq=False)
class Cache:
    """Zeros at first; on a CPU a page takes memory once it is used.

    base, residual: [layers, 2, pages, PAGE_SIZE, kv_heads, head_dim].
    latents:        float32[pages * PAGE_SIZE, patch_size, feat_dim].
    """

    base: torch.Tensor
    residual: torch.Tensor
    latents: torch.Tensor

    @property
    def pages(self) -> int:
        return self.base.shape[2]

    @staticmethod
    def page_bytes(config: ModelConfig, dtype: torch.dtype) -> int:
        kv = sum(2 * c.num_layers * c.num_kv_heads * c.head_dim for c in (config.base_lm, config.residual_lm))
        return PAGE_SIZE * (kv * dtype.itemsize + config.patch_size * config.feat_dim * 4)

    @classmethod
    def create(cls, config: ModelConfig, pages: int, device: torch.device, dtype: torch.dtype) -> Cache:
        def kv(layers: int, heads: int, dim: int) -> torch.Tensor:
            return lazy_zeros(layers, 2, pages, PAGE_SIZE, heads, dim, device=device, dtype=dtype)

        base, residual = config.base_lm, config.residual_lm
        return cls(
            kv(base.num_layers, base.num_kv_heads, base.head_dim),
            kv(residual.num_layers, residual.num_kv_heads, residual.head_dim),
            lazy_zeros(pages * PAGE_SIZE, config.patch_size, config.feat_dim, device=device),
        )
