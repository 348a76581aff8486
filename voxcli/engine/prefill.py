"""Prompts packed into one call of the LMs.

All that such a call has to know of its requests is laid out on the CPU as one list of integers and sent over in one
copy, so nothing waits for the device. The shapes of everything follow from a `Size`. One that is larger than what
fills it is padded: calls of that size are all alike, and can be captured.
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

# Positions of the padded sizes. The LMs take as long for one position as for 64: they wait for their weights.
TOKENS = (64, 128, *range(256, 4097, 256))
SHORT_PROMPT = 8  # positions: more prompts than one for so many take a larger size
EVEN = 2  # integers are laid out in pairs: kernels want the addresses of what they read to be multiples of 16 bytes


@dataclass(frozen=True, eq=False)
class Chunk:
    """Positions start .. start + len(token_ids) of one row's prompt. All on the CPU.

    patches: of the audio positions in the chunk.  last: the prompt ends here, its hidden state is wanted.
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
    """
    tokens:  positions of all rows.
    rows:    chunks.
    ends:    chunks whose hidden state is wanted.
    patches: audio positions.
    longest: most positions of one row.
    context: most positions that a row has in the cache, these included.
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

    def padded(self, most_rows: int, context: int) -> Size | None:
        """The smallest of the sizes in TOKENS that holds this one; None where none does.

        most_rows: requests at once; context: positions that a row may ever have.
        """
        wanted = max(self.tokens, self.rows * SHORT_PROMPT)
        tokens = next((tokens for tokens in TOKENS if wanted <= tokens), None)
        if tokens is None:
            return None
        rows = min(most_rows, tokens // SHORT_PROMPT)
        return Size(tokens, rows, rows, tokens if self.patches else 0, tokens, context)

    @property
    def integers(self) -> int:
        """How long a layout is."""
        return sum(length + length % EVEN for length in self.lengths)

    @property
    def lengths(self) -> list[int]:
        """Of a layout's parts, in the order in which `lay_out` fills them."""
        return [self.tokens] * 4 + [self.rows + 1, self.rows, self.rows * pages_for(self.context), self.ends]


def _parts(layout: torch.Tensor, size: Size) -> list[torch.Tensor]:
    """Views of a layout's parts, each beginning at an even place."""
    places = layout.split([length + length % EVEN for length in size.lengths])
    return [place[:length] for place, length in zip(places, size.lengths, strict=True)]


def lay_out(state: StateTable, chunks: Sequence[Chunk], size: Size) -> tuple[torch.Tensor, torch.Tensor]:
    """The integers of a call, int64, and its patches, float32[size.patches, patch_size, feat_dim]; on the CPU.

    Positions that only pad lie in page 0 and belong to no row; rows that only pad have no new positions.
    """
    rows = torch.tensor([chunk.row for chunk in chunks])
    lengths = torch.tensor([len(chunk.token_ids) for chunk in chunks])
    ends = lengths.cumsum(0)
    positions = torch.cat([torch.arange(chunk.start, chunk.end) for chunk in chunks])
    pages = state.host_table[rows.repeat_interleave(lengths), positions // PAGE_SIZE]
    idle = size.rows - len(chunks)
    parts = [
        torch.cat([chunk.token_ids for chunk in chunks]),
        positions,
        pages * PAGE_SIZE + positions % PAGE_SIZE,
        torch.cat([chunk.is_audio for chunk in chunks]),
        torch.cat((ends.new_zeros(1), ends, ends[-1].expand(idle))),
        torch.tensor([chunk.end for chunk in chunks] + [1] * idle),
        state.host_table[rows, : pages_for(size.context)].flatten(),
        ends[torch.tensor([chunk.last for chunk in chunks])] - 1,
    ]
    layout = torch.zeros(size.integers, dtype=torch.int64)
    for place, part in zip(_parts(layout, size), parts, strict=True):
        place[: len(part)] = part
    patches = torch.cat([chunk.patches for chunk in chunks])
    return layout, F.pad(patches, (0, 0, 0, 0, 0, size.patches - len(patches)))


def prefill_step(
    model: VoxCPM2, cache: Cache, attend: PagedAttention, size: Size, layout: torch.Tensor, patches: torch.Tensor
) -> Hidden:
    """Move the LMs over what was laid out, on the model's device; hidden states of the `size.ends` last positions."""
    token_ids, positions, slots, is_audio, cu_q, kv_lens, table, last = _parts(layout, size)
    audio = is_audio.bool()
    batch = PagedBatch(
        positions=positions,
        slots=slots,
        block_table=table.int().view(size.rows, -1),
        kv_lens=kv_lens.int(),
        cu_q=cu_q.int(),
        max_q=max(2, size.longest),  # 1 would ask for the other way to attend, with other last bits
        max_kv=size.context,
    )
    embeds = model.embed(token_ids, audio, patches)
    return model.advance(embeds, audio, (cache.base, cache.residual), attend, batch, last=last)
