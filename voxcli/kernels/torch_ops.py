"""The operations of the model in plain torch, for any device and dtype. `ops` documents each of them.

On a CPU in float32 the bits of a row do not depend on the other rows (see `exact`), so a clip is the same in any batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F

from voxcli.kernels import exact
from voxcli.kernels.exact import ONE_BY_ONE, PLAIN, Strategy

exact.resolve_functions()
TRIED_PATCHES = 1, 2, 3, 5, 8, 13, 32, 64


class Rms(NamedTuple):
    """A normalization to apply to a product: divide its row i by the root mean square of row i of x [..., width].

    Scaling a row before or after a product gives the same result. If the weight of the norm is folded into the matrix,
    the kernel that reads the product applies the scale, and the norm needs no kernel of its own.
    """

    x: torch.Tensor
    eps: float


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    if x.dtype == torch.float32:
        return F.rms_norm(x, x.shape[-1:], weight, eps)
    normed = divided(x, x, eps)
    return normed if weight is None else normed * weight


def divided(rows: torch.Tensor, x: torch.Tensor, eps: float) -> torch.Tensor:
    """Divide each row by the root mean square of its row of x. rows: [*N, ...]; x: [*N, width]."""
    scale = torch.rsqrt(x.float().square().mean(-1) + eps)
    return (rows.float() * scale.view(*scale.shape, *[1] * (rows.ndim - scale.ndim))).to(rows.dtype)


def product_strategy(columns: int, width: int, dtype: torch.dtype) -> Strategy:
    """Return the strategy for products of rows [N, width] with a weight [columns, width] on a CPU."""
    if dtype != exact.EXACT:
        return PLAIN

    def try_it(strategy: Strategy) -> bool:
        return product_holds(strategy, columns, width, dtype)

    return exact.strategy_for(("product", columns, width, dtype), try_it)


def product_holds(strategy: Strategy, columns: int, width: int, dtype: torch.dtype) -> bool:
    """Return whether products of this shape are exact with a strategy."""
    rows = exact.trial_inputs(exact.DISTINCT, width, seed=1, spread=True).to(dtype)
    weight = exact.trial_inputs(columns, width, seed=2, spread=True).to(dtype)
    return exact.holds(strategy, lambda x: F.linear(x, weight), rows, work=columns * width)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    if not x.is_cpu:
        return F.linear(x, weight, bias)
    rows = x.flatten(0, -2)
    product = product_strategy(len(weight), weight.shape[1], weight.dtype).apply(
        lambda part: F.linear(part, weight), rows
    )
    if bias is not None:  # a separate call, because the trial covers the plain product only
        product.add_(bias)
    return product.view(*x.shape[:-1], len(weight))


def mix_channels(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    if not x.is_cpu:
        return weight @ x
    if len(x) == 1:  # without a copy
        return torch.mm(weight, x[0])[None]
    return torch.stack([torch.mm(weight, item) for item in x])  # MKL's strict mode does not cover batched products


def norm_linear(x: torch.Tensor, norm: torch.Tensor | None, eps: float, weight: torch.Tensor) -> torch.Tensor:
    return linear(rms_norm(x, norm, eps).flatten(0, -2), weight)


def norm_gated_linear(x: torch.Tensor, norm: torch.Tensor | None, eps: float, gate_up: torch.Tensor) -> torch.Tensor:
    return silu_mul(norm_linear(x, norm, eps, gate_up))


def silu_mul(gate_up: torch.Tensor, rms: Rms | None = None) -> torch.Tensor:
    """Return SiLU(gate) * up for the two halves of the last axis.

    gate_up: [..., 2 * columns], with `rms` [N, 2 * columns] for the N rows of its x.
    """
    if rms is not None:
        gate_up = divided(gate_up, rms.x.flatten(0, -2), rms.eps)
    gate, up = gate_up.chunk(2, -1)
    return silu(gate) * up


def silu(x: torch.Tensor) -> torch.Tensor:
    """Return x * sigmoid(x).

    Not F.silu on a CPU: if a thread's part is no multiple of the vector width, its end is computed by other code.
    """
    if not x.is_cpu:
        return F.silu(x)
    wide = x.float()
    return (wide / wide.neg().exp_().add_(1)).to(x.dtype)


def linear_add(x: torch.Tensor, branch: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    rows, branch = x.view(-1, x.shape[-1]), branch.flatten(0, -2)
    if x.is_cuda:
        rows.addmm_(branch, weight.t())
    else:  # rounds the product before the sum, as the reference does
        rows.add_(linear(branch, weight))
    return x


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Apply rotary embedding in float32 to pairs of elements, half a head apart.

    x: [..., positions, heads, dim]; cos, sin: float32[positions, dim]. Returns the shape and dtype of x.
    """
    wide = x.float()
    first, second = wide.chunk(2, -1)
    return (wide * cos[:, None] + torch.cat((-second, first), -1) * sin[:, None]).to(x.dtype)


def rope_and_write(
    qkv: torch.Tensor,
    heads: int,
    rope: tuple[torch.Tensor, torch.Tensor] | None,
    positions: torch.Tensor,
    slots: torch.Tensor,
    cache: torch.Tensor,
    rms: Rms | None = None,
) -> torch.Tensor:
    if rms is not None:
        qkv = divided(qkv, *rms)
    kv_heads = (qkv.shape[1] - heads) // 2
    q, k, v = qkv.split((heads, kv_heads, kv_heads), 1)
    if rope is not None:
        cos, sin = (table[positions] for table in rope)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
    keys, values = cache.flatten(1, 2).unbind()
    keys[slots] = k
    values[slots] = v
    return q


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
    if rms is not None:
        q, k, v = divided(q, rms.x[:, first : first + queries], rms.eps), divided(k, *rms), divided(v, *rms)
    groups = heads // k.shape[2]
    q = rotate(q, cos[first : first + queries], sin[first : first + queries])
    k = rotate(k, cos[: k.shape[1]], sin[: k.shape[1]])
    # Treat the query heads of one kv head as more queries of it: this needs no copies of keys and values.
    folded = q.view(batch, queries, k.shape[2], groups, dim).permute(0, 2, 1, 3, 4).reshape(batch, k.shape[2], -1, dim)
    k, v = k.transpose(1, 2), v.transpose(1, 2)
    strategy = local_strategy(k.shape[1], folded.shape[2], dim, k.shape[2], q.dtype) if q.is_cpu else PLAIN
    out = strategy.apply(F.scaled_dot_product_attention, folded, k, v)
    return out.view(batch, -1, queries, groups, dim).transpose(1, 2).reshape(batch, queries, heads, dim)


def local_strategy(kv_heads: int, queries: int, dim: int, keys: int, dtype: torch.dtype) -> Strategy:
    """Return the strategy for `local_attention` on a CPU. queries: queries times query heads per kv head."""
    if dtype != exact.EXACT:
        return PLAIN

    def try_it(strategy: Strategy) -> bool:
        q, k, v = (
            exact.trial_inputs(exact.DISTINCT, kv_heads, tokens, dim, seed=tokens + part).to(dtype)
            for part, tokens in enumerate((queries, keys, keys))
        )
        return exact.holds(
            strategy, F.scaled_dot_product_attention, q, k, v, work=2 * q[0].numel() * keys, counts=TRIED_PATCHES
        )

    return exact.strategy_for(("local attention", kv_heads, queries, dim, keys, dtype), try_it, (PLAIN, ONE_BY_ONE))


def guided_move(
    z: torch.Tensor, velocity: torch.Tensor, cfg: torch.Tensor, width: float, carry: float
) -> tuple[torch.Tensor, torch.Tensor]:
    guided, free = velocity.float().chunk(2)
    dot = (guided * free).sum((1, 2), keepdim=True)
    free = free * (dot / (free.square().sum((1, 2), keepdim=True) + 1e-8))
    direction = free + cfg[:, None, None] * (guided - free)
    x = z - width * direction
    return x, x if carry == width else z - carry * direction


def snake(x: torch.Tensor, alpha: torch.Tensor, inverse: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    wave = torch.mul(alpha, x, out=out).sin_().square_()
    return torch.addcmul(x, wave, inverse, out=wave)


def join_tokens(prefix: torch.Tensor, slot: int, token: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
    prefix[:, slot] = token
    return torch.cat((prefix, noisy.repeat(len(prefix) // len(noisy), 1, 1)), 1)
