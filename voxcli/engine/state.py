"""The state table: everything that a step reads and writes of each request, as tensors on the device.

Rows are assigned by request_id. Row 0 is the padding row: it owns page 0, never advances, and fills buckets.
"""

from __future__ import annotations

import torch

from voxcli.engine.noise import BLOCK
from voxcli.engine.pages import pages_for
from voxcli.engine.transfer import upload
from voxcli.engine.zeros import lazy_zeros
from voxcli.model.voxcpm2 import Hidden, VoxCPM2

STOP, BROKEN = 1, 2  # bits of a row's flags: the next patch is the last one; the last patch is not finite


class StateTable:
    """The state of all rows, including the padding row.

    mu:          [rows, 2, dit hidden], hidden states for the next patch.
    cond:        float32[rows, patch_size, feat_dim], the last patch.
    noise:       float32[rows, BLOCK, patch_size, feat_dim], of the patches of the current block.
    cfg:         float32[rows], guidance scale.
    position:    int64[rows], position of the next patch in the sequence.
    patch_index: int64[rows], number of patches generated.
    block_table: int32[rows, pages], the pages of each row in order.
    """

    def __init__(self, model: VoxCPM2, rows: int):
        device = model.device
        self.mu = lazy_zeros(rows + 1, 2, model.config.locdit.hidden_size, device=device, dtype=model.dtype)
        self.cond = lazy_zeros(rows + 1, *model.patch_shape, device=device)
        self.noise = lazy_zeros(rows + 1, BLOCK, *model.patch_shape, device=device)
        self.cfg = torch.ones(rows + 1, device=device)
        self.position = torch.zeros(rows + 1, device=device, dtype=torch.int64)
        self.patch_index = torch.zeros(rows + 1, device=device, dtype=torch.int64)
        # Pages are allocated on the CPU; `sync` updates the device's copy before it is read.
        pages = pages_for(model.config.context)
        self.host_table = lazy_zeros(rows + 1, pages, device=torch.device("cpu"), dtype=torch.int32)
        self.block_table = self.host_table if device.type == "cpu" else self.host_table.to(device)
        self._new_pages: list[tuple[int, int, int]] = []  # row, index in the row, page: not yet on the device
        self._free = list(range(rows, 0, -1))
        self._rows: dict[str, int] = {}

    @property
    def free(self) -> int:
        return len(self._free)

    @property
    def owned(self) -> dict[str, int]:
        return dict(self._rows)

    def acquire(self, request_id: str) -> int:
        assert request_id not in self._rows, f"{request_id!r} already has a row"
        row = self._free.pop()
        self._rows[request_id] = row
        return row

    def release(self, request_id: str) -> None:
        self._free.append(self._rows.pop(request_id))

    def set_pages(self, row: int, start: int, pages: list[int]) -> None:
        """Set the pages of a row from index `start` on."""
        self.host_table[row, start : start + len(pages)] = torch.tensor(pages, dtype=torch.int32)
        if self.block_table is not self.host_table:
            self._new_pages += [(row, place, page) for place, page in enumerate(pages, start)]

    def sync(self) -> None:
        """Copy changes of the page table to a GPU, in one transfer.

        A row may have been given to another request since the last call: the last entry for a place counts.
        """
        if not self._new_pages:
            return
        latest = {(row, place): page for row, place, page in self._new_pages}
        self._new_pages.clear()
        entries = upload(torch.tensor([(*at, page) for at, page in latest.items()]), self.block_table.device)
        self.block_table[entries[:, 0], entries[:, 1]] = entries[:, 2].to(torch.int32)

    def set_noise(self, rows: list[int], blocks: list[torch.Tensor]) -> None:
        """Set the current block of noise of some rows; blocks: float32[BLOCK, patch_size, feat_dim] each."""
        device = self.noise.device
        self.noise[upload(torch.tensor(rows), device)] = upload(torch.stack(blocks), device)

    def begin(
        self, rows: list[int], hidden: Hidden, cond: list[torch.Tensor], cfg: list[float], at: list[tuple[int, int]]
    ) -> None:
        """Set the state of rows whose prefill has finished, for their first patch or the next one after a preemption.

        hidden: the output of the prefill, one row for each of `rows`.
        cond:   float32[patch_size, feat_dim] of each row.
        at:     (position of the next patch, number of patches generated) of each row.
        """
        device = self.mu.device
        index = upload(torch.tensor(rows), device)
        counts = upload(torch.tensor(at), device)
        self.mu[index] = hidden.mu
        self.cond[index] = upload(torch.stack(cond), device)
        self.cfg[index] = upload(torch.tensor(cfg), device)
        self.position[index] = counts[:, 0]
        self.patch_index[index] = counts[:, 1]
