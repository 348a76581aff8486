"""One autoregressive step: runs the model on rows of the state table.

A step generates the next patch of its rows and runs the LMs on it:

    LocDiT(mu, cond, noise) -> patch -> LocEnc -> base LM -> FSQ -> residual LM -> mu of the following patch, stop flag

The stop flag of a step says whether the following patch is the last one, so the CPU can read it one step late without
queuing a step too many. All shapes depend on the number of rows only, and nothing is copied to the CPU.
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
    """Generate one patch for each row, changing `state` and `cache` in place.

    rows:   int64[bucket], padded with row 0.
    max_kv: upper bound of the length of a row, including the new patch.

    Returns flags, uint8[bucket]: see STOP and BROKEN.
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
    advance = (rows > 0).to(torch.int64)  # the padding row does not advance
    state.position[rows] = batch.positions + advance
    state.patch_index[rows] = index + advance
    broken = ~patch.isfinite().all(-1).all(-1)
    return hidden.stop.to(torch.uint8) * STOP + broken.to(torch.uint8) * BROKEN


def next_positions(state: StateTable, rows: torch.Tensor, max_kv: int) -> PagedBatch:
    """Return the batch with one new token for each row, at its next position."""
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
