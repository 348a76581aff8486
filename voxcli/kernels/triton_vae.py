"""The operations of the audio decoder as Triton kernels; `torch_vae` has the plain torch versions.

The decoder is bound by memory bandwidth first and by the arithmetic of the snake activations second: on an H200, 128
patches take 0.8 ms at the speed of a copy, 0.55 ms at that of cuBLAS, and 1.75 ms here. The convolution of seven taps
therefore does not load and activate its input seven times. A program walks along the time axis in steps of the
dilation; each row of its tile is one such walk. Every activated value is added to the seven outputs that it contributes
to, six of which are kept in registers. With up to 128 channels the following product and the residual addition are part
of the same kernel, so a residual unit reads and writes its stream once.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Walk(NamedTuple):
    rows: int  # walks per program, in lockstep
    block: int  # channels per program
    warps: int
    vector: int = 4  # channels per thread, whose parameters stay in registers
    stages: int = 3  # loads in flight


# Residual units in one kernel, by number of channels. tl.dot on 16-bit tiles needs at least 16 rows. The tiles here and
# below were the fastest of about 20 each on an H200, for 16 clips of 100 patches in float16.
UNITS = {
    16: Walk(16, 16, 1),
    32: Walk(16, 32, 2, stages=4),
    64: Walk(16, 64, 4, stages=4),
    128: Walk(16, 128, 4),
}
WIDE = Walk(8, 128, 4)  # for more channels: everything but the product
LAST = Walk(32, 32, 2, vector=8, stages=4)  # the last convolution; other numbers of channels have tiles of this size
STEPS = (8, 64)  # minimum and maximum steps of a walk; each walk also computes the six steps before it
PROGRAMS = 1024  # minimum number of programs, as far as the minimum of steps allows


class Product(NamedTuple):
    rows: int
    columns: int
    chunk: int  # input channels per iteration
    warps: int
    stages: int


# Upsampling in one kernel, by number of input channels; with more channels a separate cuBLAS product is faster.
UPSAMPLES = {
    16: Product(64, 32, 16, 4, 1),
    32: Product(64, 32, 32, 4, 1),
    64: Product(128, 64, 32, 4, 3),
    128: Product(128, 128, 32, 4, 3),
    256: Product(128, 256, 32, 8, 3),
}


def _fast(x: torch.Tensor) -> bool:
    """Return whether `_snake` may use the special function unit: its error is far below the rounding of 16 bits."""
    return x.is_cuda and x.element_size() == 2


@triton.jit
def _snake(x, alpha, inverse, FAST: tl.constexpr):
    """Return x + sin(alpha x)^2 / alpha.

    FAST: sin^2 is (1 - cos(2 alpha x)) / 2, and the special function unit computes the cosine; 6 instructions, with an
    error of about 1e-6. Otherwise: range reduction to half a turn, then a polynomial with an error below 5e-7; 11
    instructions.
    """
    if FAST:
        cosine = tl.inline_asm_elementwise(
            "cos.approx.ftz.f32 $0, $1;", "=f,f", [x * (2.0 * alpha)], dtype=tl.float32, is_pure=True, pack=1
        )
        half = 0.5 * inverse
        return (x + half) - half * cosine
    turns = x * (alpha * 0.3183098861837907)
    turns = turns - ((turns + 12582912.0) - 12582912.0)  # 1.5 * 2^23: subtracts the nearest integer
    u = turns * turns
    wave = 42.65329462607063 + u * (-29.470157005201013 + u * 10.649754456798139)
    wave = u * (9.869551762956663 + u * (-32.466039840272586 + u * wave))
    return x + inverse * wave


@triton.jit
def _row(table_ptr, row, channel, CHANNELS: tl.constexpr):
    return tl.load(table_ptr + row * CHANNELS + channel, mask=channel < CHANNELS, other=0.0)[None, :]


@triton.jit(do_not_specialize=["times", "walks", "walks_of_clip", "steps", "dilation"])
def _walk_kernel(
    x_ptr,
    table_ptr,
    point_ptr,
    out_ptr,
    times,
    walks,
    walks_of_clip,
    steps,
    dilation,
    CHANNELS: tl.constexpr,
    ENDING: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    VECTOR: tl.constexpr,
    STAGES: tl.constexpr,
    FAST: tl.constexpr,
):
    """Snake and seven taps, followed by ENDING: "snake", "unit" (snake, product, residual) or "last" (sum, tanh).

    A walk visits the times first, first + dilation, ... of a clip for `steps` steps. `dilation` neighbouring walks
    together cover a stretch of dilation * steps consecutive times.
    """
    walk = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    channel = tl.max_contiguous(tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), VECTOR)
    within = walk % walks_of_clip
    first = within // dilation * (steps * dilation) + within % dilation
    place = (walk // walks_of_clip).to(tl.int64) * times + first
    at = place[:, None] * CHANNELS + channel[None, :]
    stride = dilation * CHANNELS
    real = (walk < walks)[:, None] & (channel < CHANNELS)[None, :]

    offset = _row(table_ptr, 0, channel, CHANNELS)
    alpha = _row(table_ptr, 1, channel, CHANNELS)
    inverse = _row(table_ptr, 2, channel, CHANNELS)
    tap0 = _row(table_ptr, 3, channel, CHANNELS)
    tap1 = _row(table_ptr, 4, channel, CHANNELS)
    tap2 = _row(table_ptr, 5, channel, CHANNELS)
    tap3 = _row(table_ptr, 6, channel, CHANNELS)
    tap4 = _row(table_ptr, 7, channel, CHANNELS)
    tap5 = _row(table_ptr, 8, channel, CHANNELS)
    tap6 = _row(table_ptr, 9, channel, CHANNELS)
    bias = _row(table_ptr, 10, channel, CHANNELS)
    if ENDING != "last":
        alpha_behind = _row(table_ptr, 11, channel, CHANNELS)
        inverse_behind = _row(table_ptr, 12, channel, CHANNELS)
    if ENDING == "unit":
        point = tl.load(point_ptr + tl.arange(0, BLOCK)[:, None] * CHANNELS + channel[None, :])

    # Partial sums of the next six outputs, initialized with the six values before the walk.
    sum0 = tl.zeros((ROWS, BLOCK), tl.float32) + bias
    sum1 = sum0
    sum2 = sum0
    sum3 = sum0
    sum4 = sum0
    sum5 = sum0
    for back in tl.static_range(6, 0, -1):
        there = real & ((first >= back * dilation) & (first - back * dilation < times))[:, None]
        early = tl.load(x_ptr + at - back * stride, mask=there, other=0.0).to(tl.float32)
        early = tl.where(there, _snake(early + offset, alpha, inverse, FAST), 0.0)  # the padding comes after the snake
        sum0 = sum1 + tap5 * early
        sum1 = sum2 + tap4 * early
        sum2 = sum3 + tap3 * early
        sum3 = sum4 + tap2 * early
        sum4 = sum5 + tap1 * early
        sum5 = bias + tap0 * early

    for step in tl.range(0, steps, num_stages=STAGES):
        inside = real & (first + step * dilation < times)[:, None]
        x = tl.load(x_ptr + at + step * stride, mask=inside, other=0.0)
        y = _snake(x.to(tl.float32) + offset, alpha, inverse, FAST)
        out = sum0 + tap6 * y
        sum0 = sum1 + tap5 * y
        sum1 = sum2 + tap4 * y
        sum2 = sum3 + tap3 * y
        sum3 = sum4 + tap2 * y
        sum4 = sum5 + tap1 * y
        sum5 = bias + tap0 * y
        if ENDING == "last":
            total = tl.sum(out, 1)
            total = 1.0 - 2.0 / (tl.exp(2.0 * total) + 1.0)  # tanh
            tl.store(out_ptr + place + step * dilation, total, mask=(walk < walks) & (first + step * dilation < times))
        else:
            out = _snake(out, alpha_behind, inverse_behind, FAST).to(x.dtype)
            if ENDING == "unit":
                product = tl.dot(out, point, input_precision="ieee")
                out = (x.to(tl.float32) + product).to(x.dtype)
            tl.store(out_ptr + at + step * stride, out, mask=inside)


def _walk(
    x: torch.Tensor, table: torch.Tensor, point: torch.Tensor, dilation: int, ending: str, walk: Walk
) -> torch.Tensor:
    assert x.is_contiguous() and table.is_contiguous() and point.is_contiguous(), "tensors must be contiguous"
    clips, times, channels = x.shape
    out = x.new_empty(clips, times, dtype=torch.float32) if ending == "last" else torch.empty_like(x)
    min_steps, max_steps = STEPS
    target = min(max(x.numel() // (walk.rows * walk.block * PROGRAMS), min_steps), max_steps)
    stretches = max(1, times // (target * dilation))
    steps = triton.cdiv(times, stretches * dilation)
    walks_of_clip = stretches * dilation
    grid = (triton.cdiv(clips * walks_of_clip, walk.rows), triton.cdiv(channels, walk.block))
    _walk_kernel[grid](
        x,
        table,
        point,
        out,
        times,
        clips * walks_of_clip,
        walks_of_clip,
        steps,
        dilation,
        CHANNELS=channels,
        ENDING=ending,
        ROWS=walk.rows,
        BLOCK=walk.block,
        VECTOR=min(walk.vector, walk.block),
        STAGES=walk.stages,
        FAST=_fast(x),
        num_warps=walk.warps,
    )
    return out


def residual_unit(x: torch.Tensor, unit: torch.Tensor, point: torch.Tensor, dilation: int) -> torch.Tensor:
    walk = UNITS.get(x.shape[2])
    if walk is not None:
        return _walk(x, unit, point, dilation, "unit", walk)
    y = _walk(x, unit, unit, dilation, "snake", WIDE)
    x.flatten(0, 1).addmm_(y.flatten(0, 1), point)
    return x


def last_conv(x: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    block = triton.next_power_of_2(x.shape[2])
    walk = LAST._replace(rows=max(1, LAST.rows * LAST.block // block), block=block)
    return _walk(x, last, last, 1, "last", walk)


@triton.jit(do_not_specialize=["times", "rows"])
def _upsample_kernel(
    x_ptr,
    entry_ptr,
    weight_ptr,
    out_ptr,
    times,
    rows,
    CHANNELS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CHUNK: tl.constexpr,
    FAST: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    has_now = (row < rows)[:, None]
    has_before = ((row < rows) & (row % times > 0))[:, None]
    written = (column < WIDTH)[None, :]
    wide_row = row.to(tl.int64)[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, CHANNELS, CHUNK):
        channel = start + tl.arange(0, CHUNK)
        scale = _row(entry_ptr, 0, channel, CHANNELS)
        shift = _row(entry_ptr, 1, channel, CHANNELS)
        alpha = _row(entry_ptr, 2, channel, CHANNELS)
        inverse = _row(entry_ptr, 3, channel, CHANNELS)
        at = wide_row * CHANNELS + channel[None, :]
        to = channel[:, None] * WIDTH + column[None, :]
        x = tl.load(x_ptr + at, mask=has_now, other=0.0)
        y = _snake(x.to(tl.float32) * scale + shift, alpha, inverse, FAST).to(x.dtype)
        weight = tl.load(weight_ptr + to, mask=written, other=0.0)
        total = tl.dot(y, weight, total, input_precision="ieee")
        x = tl.load(x_ptr + at - CHANNELS, mask=has_before, other=0.0)
        y = tl.where(has_before, _snake(x.to(tl.float32) * scale + shift, alpha, inverse, FAST), 0.0).to(x.dtype)
        weight = tl.load(weight_ptr + to + CHANNELS * WIDTH, mask=written, other=0.0)
        total = tl.dot(y, weight, total, input_precision="ieee")
    tl.store(out_ptr + wide_row * WIDTH + column[None, :], total.to(x_ptr.dtype.element_ty), mask=has_now & written)


@triton.jit(do_not_specialize=["times"])
def _snake_pairs_kernel(
    x_ptr, entry_ptr, out_ptr, times, CHANNELS: tl.constexpr, BLOCK: tl.constexpr, FAST: tl.constexpr
):
    """Store each activated row twice: as the current time of its output row, and as the previous time of the next."""
    row = tl.program_id(0)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < CHANNELS
    scale = tl.load(entry_ptr + channel, mask=inside, other=0.0)
    shift = tl.load(entry_ptr + CHANNELS + channel, mask=inside, other=0.0)
    alpha = tl.load(entry_ptr + 2 * CHANNELS + channel, mask=inside, other=0.0)
    inverse = tl.load(entry_ptr + 3 * CHANNELS + channel, mask=inside, other=0.0)
    at = row.to(tl.int64) * CHANNELS + channel
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    y = _snake(x.to(tl.float32) * scale + shift, alpha, inverse, FAST).to(x.dtype)
    now = row.to(tl.int64) * (2 * CHANNELS) + channel
    tl.store(out_ptr + now, y, mask=inside)
    time = row % times
    tl.store(out_ptr + now + 3 * CHANNELS, y, mask=inside & (time + 1 < times))
    tl.store(out_ptr + now + CHANNELS, tl.zeros_like(y), mask=inside & (time == 0))


def upsample(x: torch.Tensor, entry: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    assert x.is_contiguous() and entry.is_contiguous() and weight.is_contiguous(), "tensors must be contiguous"
    clips, times, channels = x.shape
    width = weight.shape[1]
    product = UPSAMPLES.get(channels)
    if product is None:
        pairs = x.new_empty(clips * times, 2 * channels)
        block = min(1024, triton.next_power_of_2(channels))
        grid = (clips * times, triton.cdiv(channels, block))
        _snake_pairs_kernel[grid](x, entry, pairs, times, CHANNELS=channels, BLOCK=block, FAST=_fast(x), num_warps=4)
        return (pairs @ weight).view(clips, times, width)
    out = x.new_empty(clips, times, width)
    columns = min(product.columns, max(16, triton.next_power_of_2(width)))
    _upsample_kernel[(triton.cdiv(clips * times, product.rows), triton.cdiv(width, columns))](
        x,
        entry,
        weight,
        out,
        times,
        clips * times,
        CHANNELS=channels,
        WIDTH=width,
        ROWS=product.rows,
        COLUMNS=columns,
        CHUNK=product.chunk,
        FAST=_fast(x),
        num_warps=product.warps,
        num_stages=product.stages,
    )
    return out
