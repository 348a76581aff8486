"""Attention among the few tokens of a patch, in Triton. `ops` documents it; `torch_ops` has the plain version."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from voxcli.kernels.torch_ops import Rms
from voxcli.kernels.triton_ops import pdl_options, rms_arguments, row_scales, wait_for_previous


@triton.jit
def _inverse_rms_of_rows(x_ptr, inside, eps, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Return 1 / root mean square of ROWS consecutive rows, [ROWS, 1], where `inside` [ROWS, 1] is true.

    Reads the rows in blocks of columns, which bounds the registers.
    """
    block: tl.constexpr = min(128, triton.next_power_of_2(WIDTH))
    row = tl.arange(0, ROWS)[:, None]
    total = tl.zeros((ROWS, block), tl.float32)
    for start in tl.static_range(0, WIDTH, block):
        column = start + tl.arange(0, block)[None, :]
        x = tl.load(x_ptr + row * WIDTH + column, mask=inside & (column < WIDTH), other=0.0).to(tl.float32)
        total += x * x
    return 1.0 / tl.sqrt(tl.sum(total, 1) / WIDTH + eps)[:, None]


@triton.jit
def _rotation(cos_ptr, sin_ptr, inside, HALF: tl.constexpr):
    """Load cos and sin of the first half of a head's channels, then of the second half."""
    cos1, sin1 = tl.load(cos_ptr, mask=inside, other=0.0), tl.load(sin_ptr, mask=inside, other=0.0)
    cos2, sin2 = tl.load(cos_ptr + HALF, mask=inside, other=0.0), tl.load(sin_ptr + HALF, mask=inside, other=0.0)
    return cos1, sin1, cos2, sin2


@triton.jit
def _local_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    cos_ptr,
    sin_ptr,
    rms_ptr,
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
    SCALES: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    HALF: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """Each program handles one sequence, one kv head and GROUP of its query heads. ROWS covers queries and keys.

    rms_ptr: x, if WIDTH is not 0; the scales of its rows, if SCALES; else not read.
    """
    program = tl.program_id(0)
    if not SCALES:
        wait_for_previous(OVERLAP)
    groups: tl.constexpr = HEADS // GROUP
    batch = (program // groups).to(tl.int64)
    kv = program % groups // (groups // KV_HEADS)
    row = tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, HALF)[None, :]
    is_key, is_query = row < keys, row < queries
    table = row * (2 * HALF) + column
    if SCALES:  # the tables do not depend on the previous kernel
        cos1, sin1, cos2, sin2 = _rotation(cos_ptr + table, sin_ptr + table, is_key, HALF)
        wait_for_previous(OVERLAP)
    of_keys = tl.full((ROWS, 1), 1.0, tl.float32)
    if WIDTH:
        of_keys = _inverse_rms_of_rows(rms_ptr + batch * keys * WIDTH, is_key, eps, WIDTH, ROWS)
    of_queries = of_keys
    if WIDTH and FIRST:
        of_queries = _inverse_rms_of_rows(rms_ptr + (batch * keys + FIRST) * WIDTH, is_query, eps, WIDTH, ROWS)
    if SCALES:
        of_keys = tl.load(rms_ptr + batch * keys + row, mask=is_key, other=0.0)
        of_queries = tl.load(rms_ptr + batch * keys + FIRST + row, mask=is_query, other=0.0)
    at = batch * kv_batch + row * kv_token + kv * (2 * HALF) + column
    k1 = tl.load(k_ptr + at, mask=is_key, other=0.0)
    k2 = tl.load(k_ptr + at + HALF, mask=is_key, other=0.0)
    v1 = tl.load(v_ptr + at, mask=is_key, other=0.0)
    v2 = tl.load(v_ptr + at + HALF, mask=is_key, other=0.0)
    if not SCALES:
        cos1, sin1, cos2, sin2 = _rotation(cos_ptr + table, sin_ptr + table, is_key, HALF)
    low, high = k1.to(tl.float32), k2.to(tl.float32)
    if WIDTH or SCALES:
        low, high = low * of_keys, high * of_keys
        v1, v2 = (v1.to(tl.float32) * of_keys).to(v1.dtype), (v2.to(tl.float32) * of_keys).to(v2.dtype)
    k1, k2 = (low * cos1 - high * sin1).to(k1.dtype), (high * cos2 + low * sin2).to(k2.dtype)
    if FIRST or not SCALES:  # loaded again where they would not stay in registers
        table += FIRST * (2 * HALF)
        cos1, sin1, cos2, sin2 = _rotation(cos_ptr + table, sin_ptr + table, is_query, HALF)
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


# (minimum number of pairs of a sequence and a kv head, query heads per program, warps). A program reads and rotates the
# keys and values once for its group of heads; with few sequences smaller groups are needed to fill the GPU.
LOCAL = ((1024, 8, 1), (768, 8, 2), (384, 4, 1), (256, 2, 1), (0, 2, 2))

# From this number of rows of x on, a separate kernel computes their scales once. Otherwise every program reads the rows
# of its sequence, which for one sequence of LocDiT are more bytes than queries, keys and values. On an H200, LocDiT of
# 128 requests (nine evaluations) takes 17.9 instead of 18.5 ms, of 64 requests 11.0 instead of 11.3 ms.
SEPARATE_ROWS = 1408
LOCAL_SCALED = ((1024, 8, 1), (0, 4, 1))


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
    assert q.stride()[2:] == (dim, 1) and k.stride()[2:] == (dim, 1) and k.stride() == v.stride(), (
        "heads must be contiguous"
    )
    out = torch.empty(batch, queries, heads, dim, device=q.device, dtype=q.dtype)
    separate = rms is not None and batch * keys >= SEPARATE_ROWS
    of_rms, eps, width = (row_scales(rms), 0.0, 0) if rms is not None and separate else rms_arguments(rms, q)
    sizes = LOCAL_SCALED if separate else LOCAL
    group, warps = next((group, warps) for pairs, group, warps in sizes if batch * kv_heads >= pairs)
    group = math.gcd(group, heads // kv_heads)
    _local_attention_kernel[(batch * heads // group,)](
        q,
        k,
        v,
        cos,
        sin,
        of_rms,
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
        SCALES=separate,
        HEADS=heads,
        KV_HEADS=kv_heads,
        GROUP=group,
        ROWS=max(16, triton.next_power_of_2(max(queries, keys))),
        HALF=dim // 2,
        num_warps=warps,
        **pdl_options(q),
    )
    return out
