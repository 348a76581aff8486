"""The operations between the matrix products: fused Triton kernels on CUDA, plain torch elsewhere.

Each function has a twin of the same name in `torch_ops` (always) and in `triton_ops` (where it pays); tests compare
the two. `use_triton(False)` turns the kernels off, for comparisons and as a way out.
"""

from __future__ import annotations

import importlib.util

import torch
import torch.nn.functional as F

from voxcli.kernels import torch_ops, torch_vae
from voxcli.kernels.torch_ops import Rms

_enabled = importlib.util.find_spec("triton") is not None


def use_triton(wanted: bool) -> None:
    global _enabled
    _enabled = wanted and importlib.util.find_spec("triton") is not None


def _fused(x: torch.Tensor) -> bool:
    return x.is_cuda and _enabled


def _one_row(x: torch.Tensor, columns: int) -> bool:
    from voxcli.kernels import triton_linear

    return triton_linear.fits(x, columns)


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """RMS normalization of the last axis in float32, scaled by `weight` in the dtype of `x`; None scales nothing."""
    if _fused(x) and weight is not None:
        from voxcli.kernels import triton_ops

        return triton_ops.rms_norm(x, weight, eps)
    return torch_ops.rms_norm(x, weight, eps)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """x @ weight.T + bias. x: [..., width]; weight: [columns, width]."""
    return F.linear(x, weight, bias) if x.is_cuda else torch_ops.linear(x, weight, bias)


def mix_channels(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """weight @ x at each time. weight: [channels out, channels in]; x: [batch, channels in, times]."""
    return torch_ops.mix_channels(weight, x)


def norm_linear(
    x: torch.Tensor, norm: torch.Tensor | None, eps: float, weight: torch.Tensor
) -> tuple[torch.Tensor, Rms | None]:
    """rms_norm(x) @ weight.T, of all rows of x [..., width] in one list [N, columns], and what is left to be done.

    norm: the weight of the normalization; None where it is part of `weight`.
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
    """SiLU(gate) * up of rms_norm(x) [..., width], as a list of rows [N, columns].

    norm: as in `norm_linear`; gate_up: [2 * columns, width], the weights of the gate before those of up.
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
    """x * sigmoid(x)."""
    return torch_ops.silu(x)


def linear_add(x: torch.Tensor, branch: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x + branch @ weight.T, in place of x: contiguous [..., width]; branch: [N, inner], a row for each of x's."""
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
    """Rotate queries and keys, write keys and values into their pages, return the queries [N, heads, dim].

    qkv:       [N, heads + 2 * kv_heads, dim].
    rope:      tables cos and sin, float32[positions, dim]; None where the model has no positions.
    positions: int64[N]; slots: int64[N], page * page_size + offset.
    cache:     [2, pages, page_size, kv_heads, dim], changed in place.
    rms:       what the rows of qkv are still to be divided by.
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
    """Attention among the few tokens of a patch, every query seeing every key, with rotary positions.

    q: [batch, queries, heads, dim], at positions first ..; k, v: [batch, keys, kv_heads, dim], at positions 0 ..;
    cos, sin: float32[positions, dim]; rms: of x [batch, keys, width], what q, k and v are still to be divided by.
    Returns [batch, queries, heads, dim].
    """
    if _fused(q) and q.shape[-1] >= 32:
        from voxcli.kernels import triton_attention

        return triton_attention.local_attention(q, k, v, cos, sin, first, rms)
    return torch_ops.local_attention(q, k, v, cos, sin, first, rms)


def join_tokens(prefix: torch.Tensor, slot: int, token: torch.Tensor, noisy: torch.Tensor) -> torch.Tensor:
    """Sequences of `prefix`, whose place `slot` is `token`, and then `noisy`.

    prefix: [batch, before, width], of which the slot may be overwritten; token: [width]; noisy: [batch / n, after,
    width], the same for each n-th part of the batch. Returns [batch, before + after, width].
    """
    if _fused(prefix):
        from voxcli.kernels import triton_ops

        return triton_ops.join_tokens(prefix, slot, token, noisy)
    return torch_ops.join_tokens(prefix, slot, token, noisy)


def guided_move(
    z: torch.Tensor, velocity: torch.Tensor, cfg: torch.Tensor, width: float, carry: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """One move of a solver (see `voxcli.model.solver`) along the guided velocity, with CFG-Zero*'s scale: the
    unconditional velocity is first scaled to fit the conditional one (Fan et al. 2025).

    z: float32[batch, patch_size, feat_dim]; velocity: [2 * batch, ...], conditional then not; cfg: float32[batch].
    Returns z - width * v and z - carry * v: one tensor twice where width and carry are equal.
    """
    if _fused(z):
        from voxcli.kernels import triton_ops

        return triton_ops.guided_move(z, velocity, cfg, width, carry)
    return torch_ops.guided_move(z, velocity, cfg, width, carry)


def snake(x: torch.Tensor, alpha: torch.Tensor, inverse: torch.Tensor) -> torch.Tensor:
    """x + sin(alpha x)^2 / alpha, with 1 / alpha given. x: [batch, channels, samples]; alpha: [channels, 1].

    Source: Ziyin et al. 2020, "Neural Networks Fail to Learn Periodic Functions and How to Fix It".
    """
    return torch_ops.snake(x, alpha, inverse)


def upsample(x: torch.Tensor, entry: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Scale, shift, snake and a causal transposed convolution of kernel 2s and stride s, as a product.

    x: [batch, times, channels]; entry: see `torch_vae`; weight: [2 * channels, s * out], the rows of this time's
    channels before those of the time before. Returns [batch, times, s * out], that is [batch, times * s, out].
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.upsample(x, entry, weight)
    return torch_vae.upsample(x, entry, weight)


def residual_unit(x: torch.Tensor, unit: torch.Tensor, point: torch.Tensor, dilation: int) -> torch.Tensor:
    """x + point(snake(conv(snake(x)))), the causal convolution with seven taps of each channel. `x` may be overwritten.

    x: [batch, times, channels]; unit: see `torch_vae`; point: [channels in, channels out].
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.residual_unit(x, unit, point, dilation)
    return torch_vae.residual_unit(x, unit, point, dilation)


def last_conv(x: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """Snake, a causal convolution of seven taps to one channel, tanh: float32[batch, times].

    x: [batch, times, channels]; last: see `torch_vae`.
    """
    if _fused(x):
        from voxcli.kernels import triton_vae

        return triton_vae.last_conv(x, last)
    return torch_vae.last_conv(x, last)
