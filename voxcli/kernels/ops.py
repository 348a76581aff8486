"""The operations of the model: fused Triton kernels on CUDA, plain torch elsewhere. Each function selects one.

Every operation has a plain implementation in `torch_ops` or `torch_vae` and, if a fused kernel is faster, one in a
`triton_*` module; tests compare the two. `use_triton(False)` disables the kernels, for comparisons and debugging.
"""

from __future__ import annotations

import importlib.util

import torch
import torch.nn.functional as F

from voxcli.kernels import torch_ops, torch_vae
from voxcli.kernels.torch_ops import Rms

_enabled = importlib.util.find_spec("triton") is not None


def use_triton(enabled: bool) -> None:
    """Enable or disable the Triton kernels in this process. Has no effect if Triton is not installed."""
    global _enabled
    _enabled = enabled and importlib.util.find_spec("triton") is not None


def _fused(x: torch.Tensor) -> bool:
    return x.is_cuda and _enabled


def _one_row(x: torch.Tensor, columns: int) -> bool:
    from voxcli.kernels import triton_linear

    return triton_linear.fits(x, columns)


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """Normalize the last axis by its root mean square, computed in float32, and multiply by `weight` unless it is None.

    x: [..., width]; weight: [width], in the dtype of `x`. Returns the shape and dtype of `x`.
    """
    if _fused(x) and weight is not None:
        from voxcli.kernels import triton_ops

        return triton_ops.rms_norm(x, weight, eps)
    return torch_ops.rms_norm(x, weight, eps)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return x @ weight.T + bias. x: [..., width]; weight: [columns, width]; bias: [columns]."""
    return F.linear(x, weight, bias) if x.is_cuda else torch_ops.linear(x, weight, bias)


def mix_channels(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return weight @ x for each clip. weight: [channels out, channels in]; x: [batch, channels in, times]."""
    return torch_ops.mix_channels(weight, x)


def norm_linear(
    x: torch.Tensor, norm: torch.Tensor | None, eps: float, weight: torch.Tensor
) -> tuple[torch.Tensor, Rms | None]:
    """Return rms_norm(x) @ weight.T, and the normalization that the reader of the product has to apply, if any.

    x: [..., width]; norm: [width], the weight of the normalization, or None if it is folded into `weight`; weight:
    [columns, width]. The product is [N, columns], with one row for each row of x. With an `Rms` it is not yet divided.
    """
    if _fused(x):
        from voxcli.kernels import triton_linear, triton_ops

        if norm is None:
            if _one_row(x, len(weight)):
                return triton_linear.one_row(x, weight, eps=eps), None
            return F.linear(x, weight).flatten(0, -2), Rms(x, eps)
        return F.linear(triton_ops.rms_norm(x, norm, eps), weight).flatten(0, -2), None
    return torch_ops.norm_linear(x, norm, eps, weight), None


def norm_gated_linear(x: torch.Tensor, norm: torch.Tensor | None, eps: float, gate_up: torch.Tensor) -> torch.Tensor:
    """Return SiLU(gate) * up, where gate and up are products of rms_norm(x): [N, columns], one row for each row of x.

    x: [..., width]; norm: as in `norm_linear`; gate_up: [2 * columns, width], the gate's weights before up's.
    """
    if _fused(x):
        from voxcli.kernels import triton_gated, triton_linear, triton_ops

        if norm is None and _one_row(x, len(gate_up) // 2):
            return triton_linear.one_row(x, gate_up, eps=eps, gated=True)
        if norm is None and triton_gated.fits(x, gate_up):
            return triton_gated.gated(x, eps, gate_up)
        return triton_ops.silu_mul(*norm_linear(x, norm, eps, gate_up))
    return torch_ops.norm_gated_linear(x, norm, eps, gate_up)


def silu(x: torch.Tensor) -> torch.Tensor:
    """Return x * sigmoid(x)."""
    return torch_ops.silu(x)


def linear_add(x: torch.Tensor, branch: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Add branch @ weight.T to x in place and return x.

    x: contiguous [..., width]; branch: [N, inner], one row for each row of x; weight: [width, inner].
    """
    if _fused(x) and _one_row(branch, len(weight)):
        from voxcli.kernels import triton_linear

        return triton_linear.one_row(branch, weight, add_to=x)
    return torch_ops.linear_add(x, branch, weight)


def rope_and_write(
    qkv: torch.Tensor,
    heads: int,
    rope: tuple[torch.Tensor, torch.Tensor] | None,
    positions: torch.Tensor,
    slots: torch.Tensor,
    cache: torch.Tensor,
    rms: Rms | None = None,
) -> torch.Tensor:
    """Rotate queries and keys, write keys and values into their pages, and return the queries, [N, heads, dim].

    qkv:       [N, heads + 2 * kv_heads, dim].
    rope:      tables cos and sin, float32[positions, dim]; None for a model without positional embedding.
    positions: int64[N], position of each token in its request.
    slots:     int64[N], page * page_size + offset.
    cache:     [2, pages, page_size, kv_heads, dim], changed in place.
    rms:       normalization by x [N, width] that has not been applied to qkv yet, or None.
    """
    if _fused(qkv):
        from voxcli.kernels import triton_ops

        return triton_ops.rope_and_write(qkv, heads, rope, positions, slots, cache, rms)
    return torch_ops.rope_and_write(qkv, heads, rope, positions, slots, cache, rms)


def local_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    first: int,
    rms: Rms | None = None,
) -> torch.Tensor:
    """Attend among the few tokens of a patch, without a mask, with rotary positional embedding.

    q:        [batch, queries, heads, dim], at positions first, first + 1, ...
    k, v:     [batch, keys, kv_heads, dim], at positions 0, 1, ...
    cos, sin: float32[positions, dim].
    rms:      normalization by x [batch, keys, width] that has not been applied to q, k and v yet, or None.
    Returns [batch, queries, heads, dim].
    """
    if _fused(q) and q.shape[-1] >= 32:
        from voxcli.kernels import triton_attention

        return triton_attention.local_attention(q, k, v, cos, sin, first, rms)
    return torch_ops.local_attention(q, k, v, cos, sin, first, rms)


def join_tokens(prefix: torch.Tensor, slot: int, token: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
    """Concatenate `prefix` and `noisy` along the tokens, with `token` at index `slot` of the prefix.

    prefix: [batch, before, width], may be changed in place at `slot`; token: [width]; noisy: [batch / n, after, width],
    repeated n times along the batch. Returns [batch, before + after, width].
    """
    if _fused(prefix):
        from voxcli.kernels import triton_ops

        return triton_ops.join_tokens(prefix, slot, token, noisy)
    return torch_ops.join_tokens(prefix, slot, token, noisy)


def guided_move(
    z: torch.Tensor, velocity: torch.Tensor, cfg: torch.Tensor, width: float, carry: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make one move of a solver (see `voxcli.model.solver`) along the guided velocity v.

    Guidance is CFG-Zero* (Fan et al. 2025): the unconditional velocity is first projected onto the conditional one.

    z: float32[batch, patch_size, feat_dim]; velocity: [2 * batch, patch_size, feat_dim], the conditional half first;
    cfg: float32[batch]. Returns z - width * v and z - carry * v; the same tensor twice if width and carry are equal.
    """
    if _fused(z):
        from voxcli.kernels import triton_ops

        return triton_ops.guided_move(z, velocity, cfg, width, carry)
    return torch_ops.guided_move(z, velocity, cfg, width, carry)


def snake(x: torch.Tensor, alpha: torch.Tensor, inverse: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """Return x + sin(alpha x)^2 / alpha. alpha, and inverse = 1 / alpha: of each channel, broadcast to the shape of x.

    out: where the result is written; not x. Source: Ziyin et al. 2020, "Neural Networks Fail to Learn Periodic
    Functions and How to Fix It".
    """
    return torch_ops.snake(x, alpha, inverse, out)


def upsample(x: torch.Tensor, entry: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Scale, shift, apply snake and a causal transposed convolution with kernel 2s and stride s, as one matrix product.

    x: [batch, times, channels]; entry: see `torch_vae`; weight: [2 * channels, s * out], first the rows for the
    channels at the current time, then those for the previous time. Returns [batch, times, s * out], which is
    [batch, times * s, out] in memory.
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.upsample(x, entry, weight)
    return torch_vae.upsample(x, entry, weight)


def residual_unit(x: torch.Tensor, unit: torch.Tensor, point: torch.Tensor, dilation: int) -> torch.Tensor:
    """Return x + snake(conv(snake(x))) @ point, with a causal depthwise convolution of seven taps.

    x: [batch, times, channels], may be overwritten; unit: see `torch_vae`; point: [channels in, channels out].
    Returns [batch, times, channels].
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.residual_unit(x, unit, point, dilation)
    return torch_vae.residual_unit(x, unit, point, dilation)


def last_conv(x: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """Apply snake, a causal convolution of seven taps to one channel, and tanh. Returns float32[batch, times].

    x: [batch, times, channels]; last: see `torch_vae`.
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.last_conv(x, last)
    return torch_vae.last_conv(x, last)
