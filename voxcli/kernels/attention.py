"""Paged attention of the causal LMs: the interface, and the plain torch implementation.

The KV cache of one layer is [2, pages, page_size, kv_heads, head_dim]. A request's block table lists its pages in
order: position p is in page table[p // page_size] at offset p % page_size. Free pages may contain anything, including
NaN, so positions beyond a request's length must not enter any sum. `ops.rope_and_write` writes the keys and values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F

from voxcli.kernels import exact
from voxcli.kernels.exact import ONE_BY_ONE, PLAIN, Strategy

MIN_SPAN = 32  # positions; shorter spans take the same time
TRIED_SPANS, TRIED_ROWS = (32, 64, 512), (1, 2, 3, 7, 16, 33)
# On a CPU torch's attention gives each thread a part of one buffer, and MKL sums in another order if that part does not
# start at a multiple of 64 bytes: the result of a row would depend on its thread. Queries are padded to a multiple of
# this number, with which each part is aligned.
QUERY_MULTIPLE = 8


@dataclass(frozen=True, eq=False)
class PagedBatch:
    """A packed batch of R requests with N new tokens in total, and where their keys and values are.

    positions:   int64[N], position of each new token in its request.
    slots:       int64[N], page * page_size + offset at which the key and value of each new token are stored.
    block_table: int32[R, pages], padded with page 0.
    kv_lens:     int32[R], tokens in the cache, including the new ones.
    cu_q:        int32[R + 1], where each request's new tokens start on the packed axis.
    max_q:       upper bound of the new tokens of one request.
    max_kv:      upper bound of the cached tokens of one request.
    """

    positions: torch.Tensor
    slots: torch.Tensor
    block_table: torch.Tensor
    kv_lens: torch.Tensor
    cu_q: torch.Tensor
    max_q: int
    max_kv: int


class PagedAttention(Protocol):
    """Causal attention of new tokens whose keys and values are already in the cache.

    name:         of the implementation, for reports.
    fixed_shapes: the cost does not grow with `max_kv`, so a CUDA graph can be captured with the maximum.
    """

    name: str
    fixed_shapes: bool

    def __call__(self, q: torch.Tensor, cache: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        """Attend. q: [N, heads, dim]; cache: [2, pages, page_size, kv_heads, dim]. Returns [N, heads, dim]."""
        ...


class TorchPagedAttention:
    """Gathers each request's pages and calls scaled_dot_product_attention. Runs on any device with any dtype.

    On a CPU the span that a row attends over depends on its own length only, so that its bits are the same in any
    batch. On other devices all rows share one span, because reading the lengths would synchronize with the device.
    """

    name = "torch"
    fixed_shapes = False

    def __call__(self, q: torch.Tensor, cache: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        keys, values = cache.flatten(1, 2).unbind()
        if batch.max_q > 1:
            return self._prefill(q, keys, values, cache.shape[2], batch)
        if not q.is_cpu:
            return self._decode(q, keys, values, cache.shape[2], batch.block_table, batch.kv_lens, batch.max_kv)
        out = torch.empty_like(q)
        for span, rows in _by_span(batch.kv_lens.tolist()).items():
            table, lengths = batch.block_table[rows], batch.kv_lens[rows]
            out[rows] = self._decode(q[rows], keys, values, cache.shape[2], table, lengths, span)
        return out

    @staticmethod
    def _decode(
        q: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        page_size: int,
        table: torch.Tensor,
        lengths: torch.Tensor,
        span: int,
    ) -> torch.Tensor:
        """Attend with one new token per row over `span` positions, masked to each row's length.

        q: [R, heads, dim]; keys, values: [pages * page_size, kv_heads, dim]; table: int32[R, pages]; lengths: int32[R].
        """
        positions = torch.arange(span, device=q.device)
        pages = table[:, (positions // page_size).clamp(max=table.shape[1] - 1)]
        slots = pages * page_size + positions % page_size
        outside = positions >= lengths[:, None]
        # Masking the scores is not enough: 0 * NaN is NaN, so other rows' slots must not enter the product either.
        k = keys[slots].masked_fill_(outside[..., None, None], 0).transpose(1, 2)
        v = values[slots].masked_fill_(outside[..., None, None], 0).transpose(1, 2)
        rows, heads, dim = q.shape
        grouped = q.reshape(rows, k.shape[1], heads // k.shape[1], dim)  # query heads grouped by kv head
        groups = grouped.shape[2]
        if not q.is_cuda:
            grouped = _pad_queries(grouped)
        strategy = decode_strategy(k.shape[1], groups, dim, q.dtype) if q.is_cpu else PLAIN
        out = strategy.apply(_masked, grouped, k, v, ~outside[:, None, None, :])
        return out[:, :, :groups].reshape(rows, heads, dim)

    @staticmethod
    def _prefill(
        q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, page_size: int, batch: PagedBatch
    ) -> torch.Tensor:
        out = torch.empty_like(q)
        starts, lens = batch.cu_q.tolist(), batch.kv_lens.tolist()
        for row, kv_len in enumerate(lens):
            new = slice(starts[row], starts[row + 1])
            if new.start == new.stop:  # a padding row
                continue
            span = torch.arange(kv_len, device=q.device)
            slots = batch.block_table[row, span // page_size] * page_size + span % page_size
            mask = span <= batch.positions[new, None]
            out[new] = F.scaled_dot_product_attention(
                q[new].transpose(0, 1)[None],
                keys[slots].transpose(0, 1)[None],
                values[slots].transpose(0, 1)[None],
                attn_mask=mask,
                enable_gqa=True,
            )[0].transpose(0, 1)
        return out


def _pad_queries(queries: torch.Tensor) -> torch.Tensor:
    """Append zero queries to [rows, kv_heads, queries, dim], up to a multiple of QUERY_MULTIPLE."""
    return F.pad(queries, (0, 0, 0, -queries.shape[2] % QUERY_MULTIPLE))


def _masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def decode_strategy(kv_heads: int, groups: int, dim: int, dtype: torch.dtype) -> Strategy:
    """Return the strategy for decode attention, one new token per row, on a CPU. groups: query heads per kv head."""
    if dtype != exact.EXACT:
        return PLAIN

    def try_it(strategy: Strategy) -> bool:
        return all(_span_holds(strategy, kv_heads, groups, dim, span, dtype) for span in TRIED_SPANS)

    return exact.strategy_for(("attention", kv_heads, groups, dim, dtype), try_it, (PLAIN, ONE_BY_ONE))


def _span_holds(strategy: Strategy, kv_heads: int, groups: int, dim: int, span: int, dtype: torch.dtype) -> bool:
    q, k, v = (
        exact.trial_inputs(exact.DISTINCT, kv_heads, tokens, dim, seed=span + part).to(dtype)
        for part, tokens in enumerate((groups, span, span))
    )
    q = _pad_queries(q)
    lengths = torch.arange(exact.DISTINCT)[:, None, None, None] * span // 4 + span // 3
    mask = torch.arange(span) < lengths
    return exact.holds(strategy, _masked, q, k, v, mask, work=2 * q[0].numel() * span, counts=TRIED_ROWS)


def _by_span(lengths: list[int]) -> dict[int, list[int]]:
    """Group rows by span: the smallest power of two that is at least the row's length (and MIN_SPAN)."""
    rows: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        rows.setdefault(max(MIN_SPAN, 1 << (length - 1).bit_length()), []).append(row)
    return rows
