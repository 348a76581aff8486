"""Paged attention against the textbook formula, computed for each request alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from voxcli.engine.pages import PAGE_SIZE, pages_for
from voxcli.kernels.attention import PagedBatch, TorchPagedAttention
from voxcli.kernels.torch_ops import local_attention, rope_and_write

HEADS, KV_HEADS, DIM = 4, 2, 8


def textbook(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """q: [queries, heads, dim]; k, v: [keys, kv_heads, dim]; the last query is at the position of the last key."""
    out = torch.empty_like(q)
    for head in range(q.shape[1]):
        kv = head // (q.shape[1] // k.shape[1])
        scores = q[:, head] @ k[:, kv].T / q.shape[-1] ** 0.5
        if causal:
            future = torch.ones_like(scores, dtype=torch.bool).triu(len(k) - len(q) + 1)
            scores = scores.masked_fill(future, float("-inf"))
        out[:, head] = scores.softmax(-1) @ v[:, kv]
    return out


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 0)],
        [(1, 5), (1, 40), (1, 15), (1, 16)],
        [(7, 0), (1, 20), (33, 3), (16, 16)],
    ],
    ids=["first token", "decode", "prefill"],
)
def test_against_the_textbook(rows: list[tuple[int, int]]) -> None:
    """rows: (new tokens, cached tokens) of each request. All other slots of the cache contain NaN."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    lengths = [new + cached for new, cached in rows]
    table = torch.zeros(len(rows), pages_for(max(lengths)), dtype=torch.int32)
    order = torch.randperm(40, generator=generator) + 1
    used = 0
    for row, length in enumerate(lengths):
        count = pages_for(length)
        table[row, :count] = order[used : used + count]
        used += count
    cache = torch.full((2, 41, PAGE_SIZE, KV_HEADS, DIM), float("nan"))
    flat = cache.flatten(1, 2)
    q, k, v, positions, slots, expected = [], [], [], [], [], []
    for row, (new, cached) in enumerate(rows):
        span = torch.arange(new + cached)
        slot = table[row, span // PAGE_SIZE].long() * PAGE_SIZE + span % PAGE_SIZE
        keys, values, queries = (
            draw(new + cached, KV_HEADS, DIM),
            draw(new + cached, KV_HEADS, DIM),
            draw(new, HEADS, DIM),
        )
        flat[0, slot[:cached]], flat[1, slot[:cached]] = keys[:cached], values[:cached]
        q.append(queries)
        k.append(keys[cached:])
        v.append(values[cached:])
        positions.append(span[cached:])
        slots.append(slot[cached:])
        expected.append(textbook(queries, keys, values, causal=True))
    batch = PagedBatch(
        positions=torch.cat(positions),
        slots=torch.cat(slots),
        block_table=table,
        kv_lens=torch.tensor(lengths, dtype=torch.int32),
        cu_q=torch.tensor([0, *(new for new, _ in rows)]).cumsum(0).int(),
        max_q=max(new for new, _ in rows),
        max_kv=max(lengths),
    )
    qkv = torch.cat((torch.cat(q), torch.cat(k), torch.cat(v)), 1)
    queries = rope_and_write(qkv, HEADS, None, batch.positions, batch.slots, cache)
    out = TorchPagedAttention()(queries, cache, batch)
    torch.testing.assert_close(out, torch.cat(expected), atol=1e-5, rtol=0)


@pytest.mark.parametrize(("queries", "keys"), [(11, 11), (4, 11), (1, 5)])
def test_local_attention_against_the_textbook(queries: int, keys: int) -> None:
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(3, queries, HEADS, DIM, generator=generator)
    k, v = (torch.randn(3, keys, KV_HEADS, DIM, generator=generator) for _ in range(2))
    expected = torch.stack([textbook(*row, causal=False) for row in zip(q, k, v, strict=True)])
    no_rotation = torch.ones(keys, DIM), torch.zeros(keys, DIM)  # cos 1, sin 0
    torch.testing.assert_close(local_attention(q, k, v, *no_rotation, 0), expected, atol=1e-5, rtol=0)


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(6, 2, 64), (5, 1, 32), (16, 2, 128)])
def test_on_a_cpu_decode_attention_gives_a_row_the_same_bits_in_any_batch(
    threads: int, heads: int, kv_heads: int, dim: int
) -> None:
    generator = torch.Generator().manual_seed(7)
    rows, page_size = 24, 16
    lengths = torch.randint(1, 150, (rows,), generator=generator, dtype=torch.int32)
    table = torch.randint(1, 100, (rows, 10), generator=generator, dtype=torch.int32)
    cache = torch.randn(2, 100, page_size, kv_heads, dim, generator=generator)
    q = torch.randn(rows, heads, dim, generator=generator)

    def attended(which: slice) -> torch.Tensor:
        lens = lengths[which]
        batch = PagedBatch(
            positions=lens.long() - 1,
            slots=lens.long(),
            block_table=table[which],
            kv_lens=lens,
            cu_q=torch.arange(len(lens) + 1, dtype=torch.int32),
            max_q=1,
            max_kv=int(lens.max()),
        )
        return TorchPagedAttention()(q[which], cache, batch)

    together = attended(slice(rows))
    for size in (1, 2, 5, 16):
        for first in range(0, rows - size + 1, size):
            part = slice(first, first + size)
            assert torch.equal(attended(part), together[part]), (size, first)


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(6, 2, 64), (4, 2, 64), (16, 2, 128), (4, 2, 16)])
@pytest.mark.parametrize(("keys", "first"), [(11, 0), (11, 7), (5, 0)])
def test_on_a_cpu_local_attention_gives_a_patch_the_same_bits_in_any_batch(
    threads: int, heads: int, kv_heads: int, dim: int, keys: int, first: int
) -> None:
    generator = torch.Generator().manual_seed(8)
    qkv = torch.randn(33, keys, heads + 2 * kv_heads, dim, generator=generator)
    cos, sin = torch.randn(2, keys, dim, generator=generator)

    def attended(which: slice) -> torch.Tensor:
        q, k, v = qkv[which].split((heads, kv_heads, kv_heads), 2)
        return local_attention(q[:, first:], k, v, cos, sin, first)

    together = attended(slice(33))
    for size in (1, 2, 7, 16):
        for start in range(0, 33 - size + 1, size):
            part = slice(start, start + size)
            assert torch.equal(attended(part), together[part]), (size, start)
