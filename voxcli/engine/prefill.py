"""Prefill: prompts packed into one call of the LMs.

Everything that the call needs to know about its requests is laid out on the CPU as one tensor of integers and copied to
the device at once, so nothing waits for the device. All shapes follow from a `Size`. A size can be padded to one of a
few sizes: calls with equal padded sizes have equal shapes, so they can be captured as CUDA graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from voxcli.engine.pages import PAGE_SIZE, Cache, pages_for
from voxcli.engine.state import StateTable
from voxcli.kernels.attention import PagedAttention, PagedBatch
from voxcli.model.voxcpm2 import Hidden, VoxCPM2

# Positions of the padded sizes. Up to 64 positions take the LMs the same time, that of reading their weights.
TOKENS = (64, 128, *range(256, 4097, 256))
SHORT_PROMPT = 8  # positions per row of a padded size; with shorter prompts a larger size is used
ALIGNMENT = 2  # integers; kernels need the parts of a layout aligned to 16 bytes


@dataclass(frozen=True, eq=False)
class Chunk:
    """A part of one row's prompt: positions start to start + n - 1. All tensors are on the CPU.

    token_ids: int64[n].
    is_audio:  bool[n].
    patches:   float32[audio positions, patch_size, feat_dim].
    last:      the prompt ends with this chunk, so the hidden state of its last position is needed.
    """

    row: int
    start: int
    token_ids: torch.Tensor
    is_audio: torch.Tensor
    patches: torch.Tensor
    last: bool

    @property
    def end(self) -> int:
        return self.start + len(self.token_ids)


@dataclass(frozen=True)
class Size:
    """The sizes of a prefill, which determine all its shapes.

    tokens:  number of positions of all rows.
    rows:    number of chunks.
    ends:    number of chunks whose last hidden state is needed.
    patches: number of audio positions.
    longest: maximum number of positions of one row.
    context: maximum number of positions of one row in the cache, including the new ones.
    """

    tokens: int
    rows: int
    ends: int
    patches: int
    longest: int
    context: int

    @staticmethod
    def of(chunks: Sequence[Chunk]) -> Size:
        return Size(
            tokens=sum(len(chunk.token_ids) for chunk in chunks),
            rows=len(chunks),
            ends=sum(chunk.last for chunk in chunks),
            patches=sum(len(chunk.patches) for chunk in chunks),
            longest=max(len(chunk.token_ids) for chunk in chunks),
            context=max(chunk.end for chunk in chunks),
        )

    def padded(self, max_rows: int, context: int) -> Size | None:
        """Return the smallest size in TOKENS that this one fits into; None if there is none.

        max_rows: maximum number of concurrent requests; context: maximum number of positions of a row.
        """
        needed = max(self.tokens, self.rows * SHORT_PROMPT)
        tokens = next((tokens for tokens in TOKENS if needed <= tokens), None)
        if tokens is None:
            return None
        rows = min(max_rows, tokens // SHORT_PROMPT)
        return Size(tokens, rows, rows, tokens if self.patches else 0, tokens, context)

    @property
    def layout_length(self) -> int:
        """The number of integers of a layout."""
        return sum(length + length % ALIGNMENT for length in self.lengths)

    @property
    def lengths(self) -> list[int]:
        """The lengths of a layout's parts, in the order of `lay_out`."""
        return [self.tokens] * 4 + [self.rows + 1, self.rows, self.rows * pages_for(self.context), self.ends]


def _parts(layout: torch.Tensor, size: Size) -> list[torch.Tensor]:
    """Return views of a layout's parts."""
    places = layout.split([length + length % ALIGNMENT for length in size.lengths])
    return [place[:length] for place, length in zip(places, size.lengths, strict=True)]


def lay_out(state: StateTable, chunks: Sequence[Chunk], size: Size) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the layout of a prefill, int64[size.layout_length], and its patches, both on the CPU.

    The patches are float32[size.patches, patch_size, feat_dim]. Padding positions are in page 0 and belong to no row;
    padding rows have no new positions.
    """
    rows = torch.tensor([chunk.row for chunk in chunks])
    lengths = torch.tensor([len(chunk.token_ids) for chunk in chunks])
    ends = lengths.cumsum(0)
    positions = torch.cat([torch.arange(chunk.start, chunk.end) for chunk in chunks])
    pages = state.host_table[rows.repeat_interleave(lengths), positions // PAGE_SIZE]
    padding = size.rows - len(chunks)
    parts = [
        torch.cat([chunk.token_ids for chunk in chunks]),
        positions,
        pages * PAGE_SIZE + positions % PAGE_SIZE,
        torch.cat([chunk.is_audio for chunk in chunks]),
        torch.cat((ends.new_zeros(1), ends, ends[-1].expand(padding))),
        torch.tensor([chunk.end for chunk in chunks] + [1] * padding),
        state.host_table[rows, : pages_for(size.context)].flatten(),
        ends[torch.tensor([chunk.last for chunk in chunks])] - 1,
    ]
    layout = torch.zeros(size.layout_length, dtype=torch.int64)
    for place, part in zip(_parts(layout, size), parts, strict=True):
        place[: len(part)] = part
    patches = torch.cat([chunk.patches for chunk in chunks])
    return layout, F.pad(patches, (0, 0, 0, 0, 0, size.patches - len(patches)))


def prefill_step(
    model: VoxCPM2, cache: Cache, attend: PagedAttention, size: Size, layout: torch.Tensor, patches: torch.Tensor
) -> Hidden:
    """Run the LMs on a layout and patches on the model's device. Returns the hidden states of `size.ends` positions."""
    token_ids, positions, slots, is_audio, cu_q, kv_lens, table, last = _parts(layout, size)
    audio = is_audio.bool()
    batch = PagedBatch(
        positions=positions,
        slots=slots,
        block_table=table.int().view(size.rows, -1),
        kv_lens=kv_lens.int(),
        cu_q=cu_q.int(),
        max_q=max(2, size.longest),  # 1 would select decode attention, which rounds differently
        max_kv=size.context,
    )
    embeds = model.embed(token_ids, audio, patches)
    return model.advance(embeds, audio, (cache.base, cache.residual), attend, batch, last=last)
