"""vLLM's FlashAttention with block tables: one call for prefill and decode, with fixed shapes for CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from voxcli.kernels.attention import PagedBatch
from voxcli.kernels.vllm_library import load_flash_attention

MANY_ROWS = 64  # decode rows that fill the GPU without splitting the keys; a split needs another kernel to combine it


class VllmPagedAttention:
    name = "vllm"
    fixed_shapes = True

    def __init__(self, kernel: Any, version: int, schedule: Callable[..., torch.Tensor] | None = None):
        """schedule: FlashAttention 3's function that plans a batch; its result is shared by all layers of a step."""
        self._kernel, self.version, self._schedule = kernel, version, schedule
        self._batch: PagedBatch | None = None
        self._scheduled: torch.Tensor | None = None

    @classmethod
    def load(cls) -> VllmPagedAttention:
        """Load the kernels. Raises ImportError with the reason if vLLM has none for this GPU or version of torch."""
        module, version = load_flash_attention()
        return cls(module.flash_attn_varlen_func, version, module.get_scheduler_metadata if version == 3 else None)

    def __call__(self, q: torch.Tensor, cache: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        keys, values = cache.unbind()
        splits = 1 if batch.max_q == 1 and len(batch.kv_lens) >= MANY_ROWS else 0  # 0: FlashAttention chooses
        if batch is not self._batch and self._schedule is not None:
            self._scheduled = self._schedule(
                batch_size=len(batch.kv_lens),
                max_seqlen_q=batch.max_q,
                max_seqlen_k=batch.max_kv,
                num_heads_q=q.shape[1],
                num_heads_kv=keys.shape[2],
                headdim=q.shape[2],
                cache_seqlens=batch.kv_lens,
                qkv_dtype=q.dtype,
                cu_seqlens_q=batch.cu_q,
                page_size=keys.shape[1],
                causal=True,
                num_splits=splits,
            )
        self._batch = batch
        out: torch.Tensor = self._kernel(
            q=q,
            k=keys,
            v=values,
            max_seqlen_q=batch.max_q,
            cu_seqlens_q=batch.cu_q,
            max_seqlen_k=batch.max_kv,
            seqused_k=batch.kv_lens,
            causal=True,
            block_table=batch.block_table,
            scheduler_metadata=self._scheduled,
            num_splits=splits,
            fa_version=self.version,
        )
        return out
