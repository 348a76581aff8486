"""One autoregressive step: where the model meets the state table.

A step makes the next patch of its rows and moves the LMs over it:

    LocDiT(mu, cond, noise) -> patch -> LocEnc -> base LM -> FSQ -> residual LM -> mu of the following patch, stop flag

so what it leaves behind says whether the patch that comes next is the last one: the CPU may read that one step late
and still queue nothing in vain. All shapes depend on the number of rows alone, and nothing is copied to the CPU.
"""

from __future__ import annotations

import torch

from voxcli.engine.noise import BLOCK
from voxcli.engine.pages import PAGE_SIZE, Cache, pages_for
from voxcli.engine.state import BROKEN, STOP, StateTable
from voxcli.kernels.attention import PagedAttention, PagedBatch
from voxcli.model.locdit import Schedule
from voxcli.model.voxcpm2 import VoxCPM2


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
