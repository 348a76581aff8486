"""Fused Triton kernels for CUDA. `ops` documents each of them; `torch_ops` has the plain torch versions.

All of them are bound by memory bandwidth or launch latency, so each reads and writes every tensor once.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from voxcli.kernels.torch_ops import Rms


@cache
def _can_overlap(index: int | None) -> bool:
    return torch.cuda.get_device_capability(index)[0] >= 9


def pdl_options(x: torch.Tensor) -> dict[str, bool]:
    """Return the launch options for programmatic dependent launch: the kernel starts while the previous one still runs.

    Both are False on GPUs older than Hopper.
    """
    possible = x.is_cuda and _can_overlap(x.device.index)
    return {"OVERLAP": possible, "launch_pdl": possible}


@triton.jit
def wait_for_previous(OVERLAP: tl.constexpr):
    """Allow the next kernel to start, then wait for the results of the previous one."""
    if OVERLAP:
        gdc_launch_dependents()
        gdc_wait()


@triton.jit
def _rms_norm_kernel(x_ptr, weight_ptr, out_ptr, width, eps, OVERLAP: tl.constexpr, BLOCK: tl.constexpr):
    wait_for_previous(OVERLAP)
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    at = row * width + column
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    wide = x.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(wide * wide, 0) / width + eps)
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float32)
    # rounded before the multiplication by the weight, as in the reference
    tl.store(out_ptr + at, ((wide * scale).to(x.dtype).to(tl.float32) * weight).to(x.dtype), mask=inside)


@triton.jit
def inverse_rms(x_ptr, eps, WIDTH: tl.constexpr):
    """Return 1 / root mean square of WIDTH values."""
    block: tl.constexpr = triton.next_power_of_2(WIDTH)
    column = tl.arange(0, block)
    x = tl.load(x_ptr + column, mask=column < WIDTH, other=0.0).to(tl.float32)
    return 1.0 / tl.sqrt(tl.sum(x * x, 0) / WIDTH + eps)


@triton.jit(do_not_specialize=["rows"])
def _row_scales_kernel(x_ptr, scale_ptr, rows, eps, WIDTH: tl.constexpr, ROWS: tl.constexpr, OVERLAP: tl.constexpr):
    """Store 1 / root mean square of each row, float32."""
    if OVERLAP:
        # Wait first: the next kernel may then start early and read x before its own wait, though not the scales.
        gdc_wait()
        gdc_launch_dependents()
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    block: tl.constexpr = triton.next_power_of_2(WIDTH)
    column = tl.arange(0, block)
    inside = (row < rows)[:, None] & (column < WIDTH)[None, :]
    x = tl.load(x_ptr + row.to(tl.int64)[:, None] * WIDTH + column[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(scale_ptr + row, 1.0 / tl.sqrt(tl.sum(x * x, 1) / WIDTH + eps), mask=row < rows)


def row_scales(rms: Rms) -> torch.Tensor:
    """Return 1 / root mean square of each row of x, float32[N].

    Four rows and four warps per program were fastest of (1, 1), (2, 1), (4, 2) and (4, 4) for 1,408 to 5,632 rows.
    """
    assert rms.x.is_contiguous()
    width = rms.x.shape[-1]
    count = rms.x.numel() // width
    scale = rms.x.new_empty(count, dtype=torch.float32)
    _row_scales_kernel[(triton.cdiv(count, 4),)](
        rms.x, scale, count, rms.eps, WIDTH=width, ROWS=4, num_warps=4, **pdl_options(rms.x)
    )
    return scale


def rms_arguments(rms: Rms | None, instead: torch.Tensor) -> tuple[torch.Tensor, float, int]:
    """Return a kernel's arguments for `rms`: x, eps and WIDTH.

    instead: passed as x if `rms` is None, in which case WIDTH is 0 and the kernel does not read it.
    """
    if rms is None:
        return instead, 0.0, 0
    assert rms.x.is_contiguous()
    return rms.x, rms.eps, rms.x.shape[-1]


def _warps(block: int) -> int:
    return max(1, min(16, block // 256))


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    width = x.shape[-1]
    block = triton.next_power_of_2(width)
    _rms_norm_kernel[(x.numel() // width,)](
        x, weight, out, width, eps, BLOCK=block, num_warps=_warps(block), **pdl_options(x)
    )
    return out


@triton.jit
def _silu_mul_kernel(
    gate_up_ptr, x_ptr, out_ptr, width, eps, WIDTH: tl.constexpr, OVERLAP: tl.constexpr, BLOCK: tl.constexpr
):
    wait_for_previous(OVERLAP)
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(gate_up_ptr + row * 2 * width + column, mask=inside, other=0.0)
    up = tl.load(gate_up_ptr + row * 2 * width + width + column, mask=inside, other=0.0)
    wide, factor = gate.to(tl.float32), up.to(tl.float32)
    if WIDTH:
        scale = inverse_rms(x_ptr + row * WIDTH, eps, WIDTH)
        wide, factor = wide * scale, factor * scale
    activated = (wide / (1.0 + tl.exp(-wide))).to(gate.dtype).to(tl.float32)
    tl.store(out_ptr + row * width + column, (activated * factor).to(gate.dtype), mask=inside)


def silu_mul(gate_up: torch.Tensor, rms: Rms | None = None) -> torch.Tensor:
    gate_up = gate_up.contiguous()
    x, eps, x_width = rms_arguments(rms, gate_up)
    width = gate_up.shape[-1] // 2
    out = gate_up.new_empty(*gate_up.shape[:-1], width)
    block = min(1024, triton.next_power_of_2(width))
    _silu_mul_kernel[(out.numel() // width, triton.cdiv(width, block))](
        gate_up, x, out, width, eps, WIDTH=x_width, BLOCK=block, num_warps=4, **pdl_options(gate_up)
    )
    return out


@triton.jit
def _rope_and_write_kernel(
    qkv_ptr,
    q_ptr,
    cos_ptr,
    sin_ptr,
    position_ptr,
    slot_ptr,
    cache_ptr,
    x_ptr,
    values_offset,
    eps,
    WIDTH: tl.constexpr,
    ROPE: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    ROWS: tl.constexpr,
    HALF: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    wait_for_previous(OVERLAP)
    token = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, HALF)[None, :]
    total: tl.constexpr = HEADS + 2 * KV_HEADS
    base = (token * total + head) * (2 * HALF) + column
    inside = head < total
    first = tl.load(qkv_ptr + base, mask=inside, other=0.0)
    second = tl.load(qkv_ptr + base + HALF, mask=inside, other=0.0)
    if WIDTH:
        scale = inverse_rms(x_ptr + token * WIDTH, eps, WIDTH)
        first = (first.to(tl.float32) * scale).to(first.dtype)
        second = (second.to(tl.float32) * scale).to(second.dtype)
    if ROPE:
        position = tl.load(position_ptr + token)
        table = position * (2 * HALF) + column
        turns = head < HEADS + KV_HEADS
        low, high = first.to(tl.float32), second.to(tl.float32)
        rotated_low = low * tl.load(cos_ptr + table) - high * tl.load(sin_ptr + table)
        rotated_high = high * tl.load(cos_ptr + table + HALF) + low * tl.load(sin_ptr + table + HALF)
        first = tl.where(turns, rotated_low, low).to(first.dtype)
        second = tl.where(turns, rotated_high, high).to(second.dtype)
    to_q = (token * HEADS + head) * (2 * HALF) + column
    tl.store(q_ptr + to_q, first, mask=head < HEADS)
    tl.store(q_ptr + to_q + HALF, second, mask=head < HEADS)
    slot = tl.load(slot_ptr + token)
    kv = head - HEADS
    is_value = kv >= KV_HEADS
    to_cache = (
        tl.where(is_value, values_offset, 0)
        + (slot * KV_HEADS + tl.where(is_value, kv - KV_HEADS, kv)) * (2 * HALF)
        + column
    )
    written = (head >= HEADS) & inside
    tl.store(cache_ptr + to_cache, first, mask=written)
    tl.store(cache_ptr + to_cache + HALF, second, mask=written)


def rope_and_write(
    qkv: torch.Tensor,
    heads: int,
    rope: tuple[torch.Tensor, torch.Tensor] | None,
    positions: torch.Tensor,
    slots: torch.Tensor,
    cache: torch.Tensor,
    rms: Rms | None = None,
) -> torch.Tensor:
    tokens, total, dim = qkv.shape
    qkv = qkv.contiguous()
    q = qkv.new_empty(tokens, heads, dim)
    cos, sin = rope if rope is not None else (qkv, qkv)
    x, eps, width = rms_arguments(rms, qkv)
    _rope_and_write_kernel[(tokens,)](
        qkv,
        q,
        cos,
        sin,
        positions,
        slots,
        cache,
        x,
        cache.stride(0),
        eps,
        WIDTH=width,
        ROPE=rope is not None,
        HEADS=heads,
        KV_HEADS=(total - heads) // 2,
        ROWS=triton.next_power_of_2(total),
        HALF=dim // 2,
        num_warps=4,
        **pdl_options(qkv),
    )
    return q


@triton.jit
def _guided_move_kernel(
    z_ptr,
    velocity_ptr,
    cfg_ptr,
    x_out_ptr,
    z_out_ptr,
    batch,
    numbers,
    width,
    carry,
    TWO: tl.constexpr,
    OVERLAP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait_for_previous(OVERLAP)
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < numbers
    guided = tl.load(velocity_ptr + row * numbers + column, mask=inside, other=0.0).to(tl.float32)
    free = tl.load(velocity_ptr + (batch + row) * numbers + column, mask=inside, other=0.0).to(tl.float32)
    free = free * (tl.sum(guided * free, 0) / (tl.sum(free * free, 0) + 1e-8))
    z = tl.load(z_ptr + row * numbers + column, mask=inside, other=0.0)
    direction = free + tl.load(cfg_ptr + row) * (guided - free)
    tl.store(x_out_ptr + row * numbers + column, z - width * direction, mask=inside)
    if TWO:
        tl.store(z_out_ptr + row * numbers + column, z - carry * direction, mask=inside)


def guided_move(
    z: torch.Tensor, velocity: torch.Tensor, cfg: torch.Tensor, width: float, carry: float
) -> tuple[torch.Tensor, torch.Tensor]:
    z, velocity = z.contiguous(), velocity.contiguous()
    two = carry != width
    x_out = torch.empty_like(z)
    z_out = torch.empty_like(z) if two else x_out
    numbers = z[0].numel()
    _guided_move_kernel[(len(z),)](
        z,
        velocity,
        cfg,
        x_out,
        z_out,
        len(z),
        numbers,
        width,
        carry,
        TWO=two,
        BLOCK=triton.next_power_of_2(numbers),
        num_warps=1,
        **pdl_options(z),
    )
    return x_out, z_out


@triton.jit
def _join_tokens_kernel(
    prefix_ptr,
    token_ptr,
    noisy_ptr,
    out_ptr,
    rows,
    before,
    after,
    slot,
    width,
    OVERLAP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait_for_previous(OVERLAP)
    batch = (tl.program_id(0) // (before + after)).to(tl.int64)
    place = tl.program_id(0) % (before + after)
    column = tl.arange(0, BLOCK)
    source = prefix_ptr + (batch * before + place) * width
    source = tl.where(place == slot, token_ptr, source)
    source = tl.where(place >= before, noisy_ptr + (batch % rows * after + place - before) * width, source)
    x = tl.load(source + column, mask=column < width)
    tl.store(out_ptr + tl.program_id(0).to(tl.int64) * width + column, x, mask=column < width)


def join_tokens(prefix: torch.Tensor, slot: int, token: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
    batch, before, width = prefix.shape
    rows, after, _ = noisy.shape
    out = prefix.new_empty(batch, before + after, width)
    _join_tokens_kernel[(batch * (before + after),)](
        prefix,
        token,
        noisy,
        out,
        rows,
        before,
        after,
        slot,
        width,
        BLOCK=triton.next_power_of_2(width),
        num_warps=4,
        **pdl_options(prefix),
    )
    return out
