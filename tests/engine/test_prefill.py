"""Prompts packed into one call: the padded sizes and the layout."""

from __future__ import annotations

import pytest
import torch

from tests.engine.helpers import LAYOUTS, TEXTS, request
from voxcli.engine.pages import PAGE_SIZE, Cache, pages_for
from voxcli.engine.prefill import TOKENS, Chunk, Size, lay_out, prefill_step
from voxcli.engine.state import StateTable
from voxcli.kernels.attention import TorchPagedAttention
from voxcli.model.voxcpm2 import Hidden, VoxCPM2


def exact(tokens: int, rows: int, patches: int = 0) -> Size:
    return Size(tokens, rows, rows, patches, tokens, 100)


@pytest.mark.parametrize(
    ("size", "tokens", "rows", "patches"),
    [
        (exact(1, 1), 64, 8, 0),
        (exact(64, 8, 1), 64, 8, 64),
        (exact(64, 9), 128, 16, 0),  # many short prompts need a larger size
        (exact(129, 1, 60), 256, 20, 256),  # limited by the number of concurrent requests
        (exact(4096, 20), 4096, 20, 0),
    ],
)
def test_the_smallest_sufficient_size_is_chosen(size: Size, tokens: int, rows: int, patches: int) -> None:
    assert size.padded(20, 512) == Size(tokens, rows, rows, patches, tokens, 512)


def test_a_prefill_larger_than_all_sizes_is_not_padded() -> None:
    assert exact(TOKENS[-1] + 1, 3).padded(20, 512) is None


def prefilled(model: VoxCPM2, padded: bool, rows: int) -> tuple[Hidden, torch.Tensor, torch.Tensor]:
    """Prefill prompts of all layouts. Returns their hidden states and the contents of their slots in both caches."""
    state, cache = StateTable(model, 8), Cache.create(model.config, 40, model.device, model.dtype)
    cache.base.fill_(torch.nan)
    cache.residual.fill_(torch.nan)
    chunks, pages = [], iter(range(1, 40))
    slots = []
    for number in range(rows):
        prompt = request(model, f"{number}", TEXTS[number], layout=LAYOUTS[number % 4], voice=number).prompt
        row, count = state.acquire(f"{number}"), len(prompt)
        owned = [next(pages) for _ in range(pages_for(count))]
        state.set_pages(row, 0, owned)
        slots += [owned[at // PAGE_SIZE] * PAGE_SIZE + at % PAGE_SIZE for at in range(count)]
        chunks.append(Chunk(row, 0, prompt.token_ids, prompt.is_audio, prompt.patches, last=number != 1))
    size = Size.of(chunks)
    if padded:
        larger = size.padded(8, state.host_table.shape[1] * PAGE_SIZE)
        assert larger is not None and larger.tokens > size.tokens and larger.rows > size.rows
        size = larger
    layout, patches = lay_out(state, chunks, size)
    assert len(layout) == size.layout_length and len(patches) == size.patches
    hidden = prefill_step(model, cache, TorchPagedAttention(), size, layout, patches)
    return hidden, *(kv.flatten(2, 3)[:, :, slots] for kv in (cache.base, cache.residual))


@pytest.mark.parametrize("rows", [1, 5])
def test_padding_changes_nothing(tiny_model: VoxCPM2, rows: int) -> None:
    hidden, base, residual = prefilled(tiny_model, False, rows)
    padded, padded_base, padded_residual = prefilled(tiny_model, True, rows)
    ends = len(hidden.mu)
    assert ends == max(1, rows - 1) and hidden.mu.isfinite().all() and base.isfinite().all()
    torch.testing.assert_close(padded.mu[:ends], hidden.mu, atol=1e-5, rtol=1e-5)
    assert torch.equal(padded.stop[:ends], hidden.stop)
    torch.testing.assert_close(padded_base, base, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(padded_residual, residual, atol=1e-5, rtol=1e-5)
