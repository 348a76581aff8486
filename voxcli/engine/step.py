"""One autoregressive step, and one packed prefill: the only places where the model meets the state table.

A step makes the next patch of its rows and moves the LMs over it:

    LocDiT(mu, cond, noise) -> patch -> LocEnc -> base LM -> FSQ -> residual LM -> mu of the following patch, stop flag

so what it leaves behind says whether the patch that comes next is the last one: the CPU may read that one step late
and still queue nothing in vain. All shapes depend on the number of rows alone, and nothing is copied to the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from voxcli.engine.noise import BLOCK
from voxcli.engine.pages import PAGE_SIZE, Cache, pages_for
from voxcli.engine.state import BROKEN, STOP, StateTable
from voxcli.engine.transfer import upload
from voxcli.kernels.attention import PagedAttention, PagedBatch
from voxcli.model.locdit import Schedule
from voxcli.model.voxcpm2 import Hidden, VoxCPM2


def decode_step(
    model: VoxCPM2,
    state: StateTable,
    cache: Cache,
    attend: PagedAttention,
    rows: torch.Tensor,
    schedule: Schedule,
    max_kv: int,
) -> torch.Tensor:
    """Make one patch for each of `rows` (int64[bucket], padded with row 0), in place. Returns flags, uint8[bucket].

    max_kv: at least the longest sequence among the rows, the new patch included.
    """
    index = state.patch_index[rows]
    patch = model.next_patch(
        state.mu[rows], state.cond[rows], state.noise[rows, index % BLOCK], state.cfg[rows], schedule
    )
    batch = next_positions(state, rows, max_kv)
    hidden = model.advance(model.encode_patches(patch), None, (cache.base, cache.residual), attend, batch)
    cache.latents[batch.slots] = patch
    state.mu[rows] = hidden.mu
    state.cond[rows] = patch
    moved = (rows > 0).to(torch.int64)  # the padding row stays where it is
    state.position[rows] = batch.positions + moved
    state.patch_index[rows] = index + moved
    broken = ~patch.isfinite().all(-1).all(-1)
    return hidden.stop.to(torch.uint8) * STOP + broken.to(torch.uint8) * BROKEN


def next_positions(state: StateTable, rows: torch.Tensor, max_kv: int) -> PagedBatch:
    """One new token for each of `rows`, at its next position."""
    position = state.position[rows]
    table = state.block_table[rows, : pages_for(max_kv)]
    page = table.gather(1, (position // PAGE_SIZE)[:, None])[:, 0]
    return PagedBatch(
        positions=position,
        slots=page * PAGE_SIZE + position % PAGE_SIZE,
        block_table=table,
        kv_lens=(position + 1).to(torch.int32),
        cu_q=torch.arange(len(rows) + 1, device=rows.device, dtype=torch.int32),
        max_q=1,
        max_kv=max_kv,
    )


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


def prefill_step(
    model: VoxCPM2, state: StateTable, cache: Cache, attend: PagedAttention, chunks: list[Chunk]
) -> Hidden | None:
    """Run chunks of many rows in one packed call; hidden states of those that end their prompt, in order.

    Everything is laid out on the CPU and sent over, so nothing waits for the device.
    """
    device = model.device
    rows = torch.tensor([chunk.row for chunk in chunks])
    lengths = torch.tensor([len(chunk.token_ids) for chunk in chunks])
    ends = lengths.cumsum(0)
    max_kv = max(chunk.end for chunk in chunks)
    positions = torch.cat([torch.arange(chunk.start, chunk.end) for chunk in chunks])
    pages = state.host_table[rows.repeat_interleave(lengths), positions // PAGE_SIZE]
    is_audio = torch.cat([chunk.is_audio for chunk in chunks])
    batch = PagedBatch(
        positions=upload(positions, device),
        slots=upload(pages * PAGE_SIZE + positions % PAGE_SIZE, device),
        block_table=upload(state.host_table[rows, : pages_for(max_kv)].contiguous(), device),
        kv_lens=upload(torch.tensor([chunk.end for chunk in chunks], dtype=torch.int32), device),
        cu_q=upload(torch.cat((torch.zeros(1, dtype=torch.int64), ends)).int(), device),
        max_q=max(2, int(lengths.max())),  # 1 would ask for the other way to attend, with other last bits
        max_kv=max_kv,
    )
    embeds = model.embed(
        upload(torch.cat([chunk.token_ids for chunk in chunks]), device),
        upload(is_audio.nonzero()[:, 0], device),
        upload(torch.cat([chunk.patches for chunk in chunks]), device),
    )
    last = ends[torch.tensor([chunk.last for chunk in chunks])] - 1
    hidden = model.advance(
        embeds, upload(is_audio, device), (cache.base, cache.residual), attend, batch, last=upload(last, device)
    )
    return hidden if len(last) else None
