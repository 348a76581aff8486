"""Matrix products of few rows in Triton, with what stands before and after them fused in.

With few rows a product is bound by reading its weights, and a chain of such products by the gaps between kernels. So a
kernel takes the normalization before its product and the activation or the addition after it along, and, where the
card can (Hopper and later), starts while its predecessor still runs: it asks for its weights, which nobody writes,
before it waits for the rows that the predecessor makes (programmatic dependent launch).

Products of many rows are bound by arithmetic and belong to cuBLAS; `ops` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from voxcli.kernels.triton_ops import overlap

MOST_ROWS = 64  # more are cuBLAS's: on an H100 the two cross near here


@dataclass(frozen=True)
class Tiles:
    """Columns of a program, numbers of the inner axis at a time, and how the loop over them is run."""

    columns: int
    inner: int
    warps: int
    stages: int


@triton.jit
def _ask_for(weight_ptr, column, columns, WIDTH: tl.constexpr, LINES: tl.constexpr):
    """Bring a program's weights to the L2 cache without waiting for them: a line of 64 numbers at a time."""
    lines = weight_ptr + column.to(tl.int64)[:, None] * WIDTH + tl.arange(0, LINES)[None, :] * 64
    lines = tl.where((column < columns)[:, None] & (tl.arange(0, LINES) * 64 < WIDTH)[None, :], lines, weight_ptr)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [lines], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def _linear_kernel(
    x_ptr,
    norm_ptr,
    weight_ptr,
    out_ptr,
    rows,
    columns,
    x_stride,
    eps,
    WIDTH: tl.constexpr,
    NORM: tl.constexpr,
    GATED: tl.constexpr,
    ADD: tl.constexpr,
    OVERLAP: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
    LINES: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    to_up = tl.cast(columns, tl.int64) * WIDTH  # from the gate's weights to up's
    if OVERLAP:
        gdc_launch_dependents()
        _ask_for(weight_ptr, column, columns, WIDTH, LINES)
        if GATED:
            _ask_for(weight_ptr + to_up, column, columns, WIDTH, LINES)
        gdc_wait()
    inside = (row < rows)[:, None]
    wanted = (column < columns)[None, :]
    k = tl.arange(0, INNER)
    x_at = x_ptr + row.to(tl.int64)[:, None] * x_stride + k[None, :]
    weight_at = weight_ptr + column.to(tl.int64)[None, :] * WIDTH + k[:, None]
    acc = tl.zeros((ROWS, COLUMNS), tl.float32)
    up = tl.zeros((ROWS, COLUMNS), tl.float32)
    squares = tl.zeros((ROWS,), tl.float32)
    for start in range(0, WIDTH, INNER):
        x = tl.load(x_at + start, mask=inside, other=0.0)
        if NORM:
            wide = x.to(tl.float32)
            squares += tl.sum(wide * wide, 1)
            x = (wide * tl.load(norm_ptr + start + k).to(tl.float32)[None, :]).to(x.dtype)
        acc = tl.dot(x, tl.load(weight_at + start, mask=wanted, other=0.0), acc)
        if GATED:
            up = tl.dot(x, tl.load(weight_at + to_up + start, mask=wanted, other=0.0), up)
    if NORM:
        scale = (1.0 / tl.sqrt(squares / WIDTH + eps))[:, None]
        acc *= scale
        up *= scale
    if GATED:
        acc = acc / (1.0 + tl.exp(-acc)) * up
    to = out_ptr + row.to(tl.int64)[:, None] * columns + column[None, :]
    if ADD:
        acc += tl.load(to, mask=inside & wanted, other=0.0).to(tl.float32)
    tl.store(to, acc.to(out_ptr.dtype.element_ty), mask=inside & wanted)


def tiles_for(rows: int, columns: int, inner: int, gated: bool) -> Tiles:
    """Few columns a program where there are few: all multiprocessors have to read weights."""
    if gated:
        return Tiles(16 if columns <= 4096 else 32, 128, 4, 4)
    return Tiles(16, 256, 4, 4) if columns <= 4096 else Tiles(32, 128, 4, 4)


def _run(
    x: torch.Tensor,
    norm: torch.Tensor | None,
    eps: float,
    weight: torch.Tensor,
    out: torch.Tensor,
    *,
    gated: bool = False,
    add: bool = False,
    tiles: Tiles | None = None,
) -> torch.Tensor:
    rows, inner = x.shape
    columns = out.shape[-1]
    tiles = tiles or tiles_for(rows, columns, inner, gated)
    height = max(16, min(64, triton.next_power_of_2(rows)))
    _linear_kernel[(triton.cdiv(columns, tiles.columns), triton.cdiv(rows, height))](
        x,
        weight if norm is None else norm,
        weight,
        out,
        rows,
        columns,
        x.stride(0),
        eps,
        WIDTH=inner,
        NORM=norm is not None,
        GATED=gated,
        ADD=add,
        ROWS=height,
        COLUMNS=tiles.columns,
        INNER=tiles.inner,
        LINES=triton.next_power_of_2(triton.cdiv(inner, 64)),
        num_warps=tiles.warps,
        num_stages=tiles.stages,
        **overlap(x),
    )
    return out


def fits(x: torch.Tensor) -> bool:
    """Whether these rows are few, and of a width and type that the kernel takes."""
    width = x.shape[-1]
    return x.dtype != torch.float32 and x.numel() // width <= MOST_ROWS and width % 256 == 0


def norm_linear(x: torch.Tensor, norm: torch.Tensor, eps: float, weight: torch.Tensor) -> torch.Tensor:
    x = x.flatten(0, -2)
    return _run(x, norm, eps, weight, x.new_empty(len(x), len(weight)))


def norm_gated_linear(x: torch.Tensor, norm: torch.Tensor, eps: float, gate_up: torch.Tensor) -> torch.Tensor:
    x = x.flatten(0, -2)
    return _run(x, norm, eps, gate_up, x.new_empty(len(x), len(gate_up) // 2), gated=True)


def linear_add(x: torch.Tensor, branch: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _run(branch.flatten(0, -2), None, 0.0, weight, x.view(-1, x.shape[-1]), add=True)
