"""Small fused operations of the transformers and the audio VAE: the plain torch forms.

Shapes are the callers' own; all work on the last axis unless a docstring says otherwise.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """RMS normalization in float32, scaled by `weight` in the dtype of `x`."""
    if x.dtype == torch.float32:
        return F.rms_norm(x, weight.shape, weight, eps)
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """SiLU(gate) * up for the two halves of the last axis."""
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate) * up


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary embedding, half-split form, in float32. x: [..., positions, heads, dim]; cos, sin: [positions, 1, dim]."""
    wide = x.float()
    first, second = wide.chunk(2, -1)
    return (wide * cos + torch.cat((-second, first), -1) * sin).to(x.dtype)


def snake(x: torch.Tensor, alpha: torch.Tensor, inverse: torch.Tensor) -> torch.Tensor:
    """x + sin(alpha x)^2 / alpha, with 1 / alpha given. x: [batch, channels, samples]; alpha: [channels, 1].

    Source: Ziyin et al. 2020, "Neural Networks Fail to Learn Periodic Functions and How to Fix It".
    """
    return torch.addcmul(x, torch.sin(alpha * x).square_(), inverse)
