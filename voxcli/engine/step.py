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
from voxcli.engine.pages import PAGE_SIZE, Cache
from voxcli.engine.state import BROKEN, STOP, StateTable
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
    position, index = state.position[rows], state.patch_index[rows]
    patch = model.next_patch(
        state.mu[rows], state.cond[rows], state.noise[rows, index % BLOCK], state.cfg[rows], schedule
    )
    table = state.block_table[rows, : -(-max_kv // PAGE_SIZE)]
    page = table.gather(1, (position // PAGE_SIZE)[:, None])[:, 0]
    slots = page * PAGE_SIZE + position % PAGE_SIZE
    batch = PagedBatch(
        positions=position,
        slots=slots,
        block_table=table,
        kv_lens=(position + 1).to(torch.int32),
        cu_q=torch.arange(len(rows) + 1, device=rows.device, dtype=torch.int32),
        max_q=1,
        max_kv=max_kv,
    )
    hidden = model.advance(model.encode_patches(patch), None, (cache.base, cache.residual), attend, batch)
    cache.latents[slots] = patch
    state.mu[rows] = hidden.mu
    state.cond[rows] = patch
    moved = (rows > 0).to(torch.int64)  # the padding row stays where it is
    state.position[rows] = position + moved
    state.patch_index[rows] = index + moved
    broken = ~patch.isfinite().all(-1).all(-1)
    return hidden.stop.to(torch.uint8) * STOP + broken.to(torch.uint8) * BROKEN


@dataclass(frozen=True, eq=False)
class Chunk:
    """Positions start .. start + len(token_ids) of one row's prompt.

    patches: of the audio positions in the chunk.  last: the prompt ends here, its hidden state is wanted.
    """

    row: int
    start: int
    token_ids: torch.Tensor
    is_audio: torch.Tensor
    patches: torch.Tensor
    last: bool


def prefill_step(
    model: VoxCPM2, state: StateTable, cache: Cache, attend: PagedAttention, chunks: list[Chunk]
) -> Hidden | None:
    """Run chunks of many rows in one packed call; hidden states of those that end their prompt, in order."""
    device = model.device
    lengths = torch.tensor([len(chunk.token_ids) for chunk in chunks])
    ends = lengths.cumsum(0)
    kv_lens = torch.tensor([chunk.start for chunk in chunks]) + lengths
    max_kv = int(kv_lens.max())
    positions = torch.cat([torch.arange(c.start, c.start + len(c.token_ids)) for c in chunks]).to(device)
    owner = torch.repeat_interleave(torch.tensor([c.row for c in chunks]), lengths).to(device)
    batch = PagedBatch(
        positions=positions,
        slots=state.block_table[owner, positions // PAGE_SIZE] * PAGE_SIZE + positions % PAGE_SIZE,
        block_table=state.block_table[torch.tensor([c.row for c in chunks], device=device), : -(-max_kv // PAGE_SIZE)],
        kv_lens=kv_lens.to(device, torch.int32),
        cu_q=torch.cat((torch.zeros(1, dtype=torch.int64), ends)).to(device, torch.int32),
        max_q=int(lengths.max()),
        max_kv=max_kv,
    )
    is_audio = torch.cat([c.is_audio for c in chunks]).to(device)
    embeds = model.embed(
        torch.cat([c.token_ids for c in chunks]).to(device), is_audio, torch.cat([c.patches for c in chunks]).to(device)
    )
    last = [int(end) - 1 for end, chunk in zip(ends, chunks, strict=True) if chunk.last]
    hidden = model.advance(
        embeds,
        is_audio,
        (cache.base, cache.residual),
        attend,
        batch,
        last=torch.tensor(last, dtype=torch.int64, device=device),
    )
    return hidden if last else None
