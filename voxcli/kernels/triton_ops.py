"""Fused CUDA kernels in Triton; `ops` says what each computes, `torch_ops` is the same in plain torch.

All of them are bound by memory or by launches: what counts is that each tensor is read and written once.
"""

from __future__ import annotations

import math
from functools import cache

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from voxcli.kernels.torch_ops import Rms


@cache
def _can_overlap(index: int | None) -> bool:
    return torch.cuda.get_device_capability(index)[0] >= 9


def overlap(x: torch.Tensor) -> dict[str, bool]:
    """Launch options of a kernel that starts while the one before it still runs (programmatic dependent launch)."""
    possible = x.is_cuda and _can_overlap(x.device.index)
    return {"OVERLAP": possible, "launch_pdl": possible}


@triton.jit
def begin(OVERLAP: tl.constexpr):
    """Let the next kernel start, and wait for what the one before has written."""
    if OVERLAP:
        gdc_launch_dependents()
        gdc_wait()


@triton.jit
def _rms_norm_kernel(x_ptr, weight_ptr, out_ptr, width, eps, OVERLAP: tl.constexpr, BLOCK: tl.constexpr):
    begin(OVERLAP)
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    at = row * width + column
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    wide = x.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(wide * wide, 0) / width + eps)
    weight = tl.load(weight_ptr + column, mask=inside, other=0.0).to(tl.float32)
    # rounded before the weight, as the reference does
    tl.store(out_ptr + at, ((wide * scale).to(x.dtype).to(tl.float32) * weight).to(x.dtype), mask=inside)


@triton.jit
def inverse_rms(x_ptr, eps, WIDTH: tl.constexpr):
    """1 / root mean square of WIDTH numbers."""
    block: tl.constexpr = triton.next_power_of_2(WIDTH)
    column = tl.arange(0, block)
    x = tl.load(x_ptr + column, mask=column < WIDTH, other=0.0).to(tl.float32)
    return 1.0 / tl.sqrt(tl.sum(x * x, 0) / WIDTH + eps)


@triton.jit
def inverse_rms_of_rows(x_ptr, inside, eps, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """The same of ROWS rows side by side, [ROWS, 1], where inside [ROWS, 1]: a part of each row at a time."""
    block: tl.constexpr = min(128, triton.next_power_of_2(WIDTH))
    row = tl.arange(0, ROWS)[:, None]
    total = tl.zeros((ROWS, block), tl.float32)
    for start in tl.static_range(0, WIDTH, block):
        column = start + tl.arange(0, block)[None, :]
        x = tl.load(x_ptr + row * WIDTH + column, mask=inside & (column < WIDTH), other=0.0).to(tl.float32)
        total += x * x
    return 1.0 / tl.sqrt(tl.sum(total, 1) / WIDTH + eps)[:, None]


def _told(rms: Rms | None, instead: torch.Tensor) -> tuple[torch.Tensor, float, int]:
    """A kernel's arguments for `rms`: x, eps and WIDTH, which is 0 when there is nothing to divide by."""
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
        x, weight, out, width, eps, BLOCK=block, num_warps=_warps(block), **overlap(x)
    )
    return out


@triton.jit
def _silu_mul_kernel(
    gate_up_ptr, x_ptr, out_ptr, width, eps, WIDTH: tl.constexpr, OVERLAP: tl.constexpr, BLOCK: tl.constexpr
):
    begin(OVERLAP)
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
    x, eps, x_width = _told(rms, gate_up)
    width = gate_up.shape[-1] // 2
    out = gate_up.new_empty(*gate_up.shape[:-1], width)
    block = min(1024, triton.next_power_of_2(width))
    _silu_mul_kernel[(out.numel() // width, triton.cdiv(width, block))](
        gate_up, x, out, width, eps, WIDTH=x_width, BLOCK=block, num_warps=4, **overlap(gate_up)
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
    begin(OVERLAP)
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
    x, eps, width = _told(rms, qkv)
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
        **overlap(qkv),
    )
    return q


@triton.jit
def _local_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    cos_ptr,
    sin_ptr,
    x_ptr,
    out_ptr,
    q_batch,
    q_token,
    kv_batch,
    kv_token,
    queries,
    keys,
    scale,
    eps,
    FIRST: tl.constexpr,
    WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    HALF: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """One program: one sequence, one kv head and GROUP of its query heads. ROWS covers queries and keys."""
    program = tl.program_id(0)
    begin(OVERLAP)
    groups: tl.constexpr = HEADS // GROUP
    batch = (program // groups).to(tl.int64)
    kv = program % groups // (groups // KV_HEADS)
    row = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, HALF)[None, :]
    is_key, is_query = row < keys, row < queries
    of_keys = tl.full((ROWS, 1), 1.0, tl.float32)
    if WIDTH:
        of_keys = inverse_rms_of_rows(x_ptr + batch * keys * WIDTH, is_key, eps, WIDTH, ROWS)
    of_queries = of_keys
    if WIDTH and FIRST:
        of_queries = inverse_rms_of_rows(x_ptr + (batch * keys + FIRST) * WIDTH, is_query, eps, WIDTH, ROWS)
    at = batch * kv_batch + row * kv_token + kv * (2 * HALF) + column
    k1 = tl.load(k_ptr + at, mask=is_key, other=0.0)
    k2 = tl.load(k_ptr + at + HALF, mask=is_key, other=0.0)
    v1 = tl.load(v_ptr + at, mask=is_key, other=0.0)
    v2 = tl.load(v_ptr + at + HALF, mask=is_key, other=0.0)
    table = row * (2 * HALF) + column
    cos1, sin1 = tl.load(cos_ptr + table, mask=is_key, other=0.0), tl.load(sin_ptr + table, mask=is_key, other=0.0)
    cos2 = tl.load(cos_ptr + table + HALF, mask=is_key, other=0.0)
    sin2 = tl.load(sin_ptr + table + HALF, mask=is_key, other=0.0)
    low, high = k1.to(tl.float32), k2.to(tl.float32)
    if WIDTH:
        low, high = low * of_keys, high * of_keys
        v1, v2 = (v1.to(tl.float32) * of_keys).to(v1.dtype), (v2.to(tl.float32) * of_keys).to(v2.dtype)
    k1, k2 = (low * cos1 - high * sin1).to(k1.dtype), (high * cos2 + low * sin2).to(k2.dtype)
    table = table + FIRST * (2 * HALF)
    cos1, sin1 = tl.load(cos_ptr + table, mask=is_query, other=0.0), tl.load(sin_ptr + table, mask=is_query, other=0.0)
    cos2 = tl.load(cos_ptr + table + HALF, mask=is_query, other=0.0)
    sin2 = tl.load(sin_ptr + table + HALF, mask=is_query, other=0.0)
    visible = (tl.arange(0, ROWS) < keys)[None, :]
    for member in range(GROUP):
        head = program % groups * GROUP + member
        at = batch * q_batch + row * q_token + head * (2 * HALF) + column
        q1 = tl.load(q_ptr + at, mask=is_query, other=0.0)
        q2 = tl.load(q_ptr + at + HALF, mask=is_query, other=0.0)
        low, high = q1.to(tl.float32) * of_queries, q2.to(tl.float32) * of_queries
        q1, q2 = (low * cos1 - high * sin1).to(q1.dtype), (high * cos2 + low * sin2).to(q2.dtype)
        scores = tl.dot(q1, tl.trans(k1), input_precision="ieee") + tl.dot(q2, tl.trans(k2), input_precision="ieee")
        scores = tl.where(visible, scores * scale, float("-inf"))
        weights = tl.exp(scores - tl.max(scores, 1)[:, None])
        weights = weights / tl.sum(weights, 1)[:, None]
        weights = weights.to(v1.dtype)
        to = ((batch * queries + row) * HEADS + head) * (2 * HALF) + column
        tl.store(out_ptr + to, tl.dot(weights, v1, input_precision="ieee").to(v1.dtype), mask=is_query)
        tl.store(out_ptr + to + HALF, tl.dot(weights, v2, input_precision="ieee").to(v1.dtype), mask=is_query)


# Query heads and warps of a program, from so many pairs of a sequence and a kv head on. Keys and values are read and
# turned once for a group of heads, but few sequences have to fill the card as well.
LOCAL = ((1024, 8, 1), (768, 8, 2), (384, 4, 1), (256, 2, 1), (0, 2, 2))


def local_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    first: int,
    rms: Rms | None = None,
) -> torch.Tensor:
    batch, queries, heads, dim = q.shape
    keys, kv_heads = k.shape[1:3]
    assert q.stride()[2:] == (dim, 1) and k.stride()[2:] == (dim, 1) and k.stride() == v.stride(), "heads side by side"
    out = torch.empty(batch, queries, heads, dim, device=q.device, dtype=q.dtype)
    x, eps, width = _told(rms, q)
    group, warps = next((group, warps) for pairs, group, warps in LOCAL if batch * kv_heads >= pairs)
    group = math.gcd(group, heads // kv_heads)
    _local_attention_kernel[(batch * heads // group,)](
        q,
        k,
        v,
        cos,
        sin,
        x,
        out,
        q.stride(0),
        q.stride(1),
        k.stride(0),
        k.stride(1),
        queries,
        keys,
        dim**-0.5,
        eps,
        FIRST=first,
        WIDTH=width,
        HEADS=heads,
        KV_HEADS=kv_heads,
        GROUP=group,
        ROWS=max(16, triton.next_power_of_2(max(queries, keys))),
        HALF=dim // 2,
        num_warps=warps,
        **overlap(q),
    )
    return out


@triton.jit
def _guided_step_kernel(
    x_ptr, velocity_ptr, cfg_ptr, out_ptr, batch, numbers, width, OVERLAP: tl.constexpr, BLOCK: tl.constexpr
):
    begin(OVERLAP)
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < numbers
    guided = tl.load(velocity_ptr + row * numbers + column, mask=inside, other=0.0).to(tl.float32)
    free = tl.load(velocity_ptr + (batch + row) * numbers + column, mask=inside, other=0.0).to(tl.float32)
    free = free * (tl.sum(guided * free, 0) / (tl.sum(free * free, 0) + 1e-8))
    x = tl.load(x_ptr + row * numbers + column, mask=inside, other=0.0)
    x = x - width * (free + tl.load(cfg_ptr + row) * (guided - free))
    tl.store(out_ptr + row * numbers + column, x, mask=inside)


def guided_step(x: torch.Tensor, velocity: torch.Tensor, cfg: torch.Tensor, width: float) -> torch.Tensor:
    x, velocity = x.contiguous(), velocity.contiguous()
    out = torch.empty_like(x)
    numbers = x[0].numel()
    _guided_step_kernel[(len(x),)](
        x, velocity, cfg, out, len(x), numbers, width, BLOCK=triton.next_power_of_2(numbers), num_warps=1, **overlap(x)
    )
    return out


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
    begin(OVERLAP)
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
        **overlap(prefix),
    )
    return out
