"""Pages of the cache: their allocation and their memory.

`PagePool` is bookkeeping on the CPU without tensors. `Cache` is the memory: keys and values of both LMs and, at the
same page and offset, the latents of the patch at that position. Page 0 always belongs to the padding row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.engine.zeros import lazy_zeros
from voxcli.model.config import ModelConfig

PAGE_SIZE = 16  # positions


def pages_for(positions: int) -> int:
    """Return the number of pages for a number of positions."""
    return -(-positions // PAGE_SIZE)


class PagePool:
    """Allocates pages 1 to pages - 1; page 0 is the padding page."""

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
        assert self.can_allocate(count), f"{count} pages requested, {len(self._free)} free"
        return [self._free.pop() for _ in range(count)]

    def release(self, pages: list[int]) -> None:
        self._free.extend(reversed(pages))

    def check_integrity(self, owned: list[int]) -> None:
        """Raise AssertionError unless every page is either free or in `owned`, exactly once."""
        seen = sorted([*self._free, *owned])
        assert seen == list(range(1, self.total + 1)), (
            f"{self.total} pages, but {len(self._free)} free and {len(owned)} owned, {len(set(seen))} distinct"
        )


@dataclass(frozen=True, eq=False)
class Cache:
    """The memory of the pages, initially zeros. On a CPU a page takes memory only after it has been used.

    base, residual: keys and values of the LMs, [layers, 2, pages, PAGE_SIZE, kv_heads, head_dim].
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
        """Return the bytes of one page in all tensors of the cache."""
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
