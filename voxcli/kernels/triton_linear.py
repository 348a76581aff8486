"""Products of a single row as a Triton kernel. The time is that of reading the weights, which starts early.

With programmatic dependent launch a kernel starts while the previous one still runs. The weights do not depend on the
previous kernel, so they are loaded into registers before it has finished. Each program reads the whole row, so the
normalization, SiLU and the addition are part of the same kernel.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from voxcli.kernels.triton_ops import pdl_options

COLUMNS, PART, WARPS = 4, 2048, 4  # result columns per program; elements of the row at a time; warps


@triton.jit
def _one_row_kernel(
    x_ptr,
    weight_ptr,
    out_ptr,
    columns,
    eps,
    INNER: tl.constexpr,
    NORM: tl.constexpr,
    GATED: tl.constexpr,
    ADD: tl.constexpr,
    OVERLAP: tl.constexpr,
    COLUMNS: tl.constexpr,
    PART: tl.constexpr,
):
    if OVERLAP:
        gdc_launch_dependents()
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inner = tl.arange(0, PART)
    at = weight_ptr + column[:, None].to(tl.int64) * INNER + inner[None, :]
    up_at = at + columns.to(tl.int64) * INNER
    weight = tl.load(at)
    if GATED:
        up_weight = tl.load(up_at)
    if OVERLAP:
        gdc_wait()  # the results of the previous kernel may be read from here on
    x = tl.load(x_ptr + inner).to(tl.float32)[None, :]
    square = x * x
    product = weight.to(tl.float32) * x
    up = product
    if GATED:
        up = up_weight.to(tl.float32) * x
    for start in tl.static_range(PART, INNER, PART):
        x = tl.load(x_ptr + start + inner).to(tl.float32)[None, :]
        square += x * x
        product += tl.load(at + start).to(tl.float32) * x
        if GATED:
            up += tl.load(up_at + start).to(tl.float32) * x
    out = tl.sum(product, 1)
    scale = 1.0
    if NORM:
        scale = 1.0 / tl.sqrt(tl.sum(square) / INNER + eps)
        out *= scale
    if GATED:
        out = out / (1.0 + tl.exp(-out)) * (tl.sum(up, 1) * scale)
    if ADD:
        out += tl.load(out_ptr + column).to(tl.float32)
    tl.store(out_ptr + column, out.to(weight.dtype))


def fits(x: torch.Tensor, columns: int) -> bool:
    """Return whether `one_row` supports x with a result of `columns` columns."""
    return x.numel() == x.shape[-1] and x.is_contiguous() and columns % COLUMNS == 0


def one_row(
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    eps: float | None = None,
    gated: bool = False,
    add_to: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return x @ weight.T for a single row x [..., width]: [1, columns]. `fits` must be true.

    eps:    if given, divide x by its root mean square, with this epsilon.
    gated:  apply SiLU to the first half of the columns and multiply by the second half.
    add_to: if given, a row that the product is added to in place, and which is returned.
    """
    inner, columns = x.shape[-1], len(weight) // 2 if gated else len(weight)
    out = x.new_empty(1, columns) if add_to is None else add_to
    _one_row_kernel[(columns // COLUMNS,)](
        x,
        weight,
        out,
        columns,
        eps or 0.0,
        INNER=inner,
        NORM=eps is not None,
        GATED=gated,
        ADD=add_to is not None,
        COLUMNS=COLUMNS,
        PART=math.gcd(inner, PART),
        num_warps=WARPS,
        **pdl_options(x),
    )
    return out
