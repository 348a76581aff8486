"""Attention of the causal LMs over pages: the interface, and its plain torch form.

A KV cache of one layer is [2, pages, page_size, kv_heads, head_dim]; a request's block table lists its pages in
order, so position p lies in page table[p // page_size] at p % page_size. Free pages may hold anything, NaN too:
positions beyond a request's length are never part of a sum. Keys and values are written by `ops.rope_and_write`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F

from voxcli.kernels import exact
from voxcli.kernels.exact import AS_THEY_ARE, ONE_BY_ONE, Way

MIN_SPAN = 32  # positions: shorter ones cost the same
TRIED_SPANS, TRIED_ROWS = (32, 64, 512), (1, 2, 3, 7, 16, 33)
# On a CPU torch's attention gives each thread a part of one buffer, and MKL adds in another order where that part does
# not begin at a multiple of 64 bytes: a row would depend on the thread it falls to. With so many queries it does not.
WHOLE_QUERIES = 8


@dataclass(frozen=True, eq=False)
class PagedBatch:
    """What a packed batch of R requests and N new tokens attends to.

    positions:   int64[N] of the new tokens in their requests.
    slots:       int64[N], page * page_size + offset where each new key and value goes.
    block_table: int32[R, pages], padded with page 0.
    kv_lens:     int32[R], tokens in the cache including the new ones.
    cu_q:        int32[R + 1], where each request's new tokens begin in the packed axis.
    max_q, max_kv: upper bounds of new tokens and of cached tokens of one request.
    """

    positions: torch.Tensor
    slots: torch.Tensor
    block_table: torch.Tensor
    kv_lens: torch.Tensor
    cu_q: torch.Tensor
    max_q: int
    max_kv: int


class PagedAttention(Protocol):
    """Causal attention of new tokens whose keys and values are already in their pages.

    fixed_shapes: its cost does not grow with `max_kv`, so a captured graph may use the largest.
    """

    name: str
    fixed_shapes: bool

    def __call__(self, q: torch.Tensor, cache: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        """q: [N, heads, dim]; returns [N, heads, dim]."""
        ...


class TorchPagedAttention:
    """Gathers each request's pages and calls scaled_dot_product_attention: any device, any dtype.

    On a CPU a row is summed over a span that follows from its own length, so that its last bits are the same beside
    any neighbours. Other devices take one span for all: asking for lengths would wait for them.
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
        """One new token a row, over the first `span` positions, of which a row has as many as its length."""
        positions = torch.arange(span, device=q.device)
        pages = table[:, (positions // page_size).clamp(max=table.shape[1] - 1)]
        slots = pages * page_size + positions % page_size
        outside = positions >= lengths[:, None]
        # A masked score is not enough: 0 * NaN is NaN, so what lies in foreign slots must not enter the product.
        k = keys[slots].masked_fill_(outside[..., None, None], 0).transpose(1, 2)
        v = values[slots].masked_fill_(outside[..., None, None], 0).transpose(1, 2)
        rows, heads, dim = q.shape
        grouped = q.reshape(rows, k.shape[1], heads // k.shape[1], dim)  # the query heads of one kv head side by side
        groups = grouped.shape[2]
        if not q.is_cuda:
            grouped = _filled_up(grouped)
        way = decode_way(k.shape[1], groups, dim, q.dtype) if q.is_cpu else AS_THEY_ARE
        out = way.apply(_masked, grouped, k, v, ~outside[:, None, None, :])
        return out[:, :, :groups].reshape(rows, heads, dim)

    @staticmethod
    def _prefill(
        q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, page_size: int, batch: PagedBatch
    ) -> torch.Tensor:
        out = torch.empty_like(q)
        starts, lens = batch.cu_q.tolist(), batch.kv_lens.tolist()
        for row, kv_len in enumerate(lens):
            new = slice(starts[row], starts[row + 1])
            if new.start == new.stop:  # it only pads
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


def _filled_up(queries: torch.Tensor) -> torch.Tensor:
    """[rows, kv_heads, queries, dim] with as many of zeros behind as make them whole."""
    return F.pad(queries, (0, 0, 0, -queries.shape[2] % WHOLE_QUERIES))


def _masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def decode_way(kv_heads: int, groups: int, dim: int, dtype: torch.dtype) -> Way:
    """The way to attend with one new token a row on a CPU. groups: query heads that share a key head."""
    if dtype != exact.EXACT:
        return AS_THEY_ARE

    def try_it(way: Way) -> bool:
        return all(_span_holds(way, kv_heads, groups, dim, span, dtype) for span in TRIED_SPANS)

    return exact.way_of(("attention", kv_heads, groups, dim, dtype), try_it, (AS_THEY_ARE, ONE_BY_ONE))


def _span_holds(way: Way, kv_heads: int, groups: int, dim: int, span: int, dtype: torch.dtype) -> bool:
    q, k, v = (
        exact.numbers(exact.DISTINCT, kv_heads, tokens, dim, seed=span + part).to(dtype)
        for part, tokens in enumerate((groups, span, span))
    )
    q = _filled_up(q)
    lengths = torch.arange(exact.DISTINCT)[:, None, None, None] * span // 4 + span // 3
    mask = torch.arange(span) < lengths
    return exact.holds(way, _masked, q, k, v, mask, work=2 * q[0].numel() * span, counts=TRIED_ROWS)


def _by_span(lengths: list[int]) -> dict[int, list[int]]:
    """Rows of each span: the power of two that holds a row's length."""
    rows: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        rows.setdefault(max(MIN_SPAN, 1 << (length - 1).bit_length()), []).append(row)
    return rows
