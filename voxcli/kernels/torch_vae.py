"""The operations of the audio decoder in plain torch: [batch, times, channels], 16 or 32 bits. `ops` documents them.

The parameters of the channels are tables, float32[rows, channels], with these rows:

entry: scale, shift, alpha, 1 / alpha
unit:  offset, alpha, 1 / alpha, 7 taps, bias, alpha and 1 / alpha of the second snake
last:  offset, alpha, 1 / alpha, 7 taps, bias (the sum of this row is added)

`offset` has to be added to the stored stream: it is the sum of the biases of the products before it, which are not
applied there.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

TAPS = 7


def _snake(x: torch.Tensor, alpha: torch.Tensor, inverse: torch.Tensor) -> torch.Tensor:
    return torch.addcmul(x, torch.sin(alpha * x).square_(), inverse)


def _snake_conv(x: torch.Tensor, table: torch.Tensor, dilation: int) -> torch.Tensor:
    """Apply snake and the causal depthwise convolution of seven taps. Returns float32[batch, times, channels]."""
    y = _snake(x.float() + table[0], table[1], table[2])
    y = F.pad(y, (0, 0, (TAPS - 1) * dilation, 0)).transpose(1, 2)
    taps = table[3 : 3 + TAPS].t()[:, None].contiguous()
    return F.conv1d(y, taps, table[3 + TAPS], dilation=dilation, groups=len(taps)).transpose(1, 2)


def upsample(x: torch.Tensor, entry: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scale, shift, alpha, inverse = entry
    now = _snake(torch.addcmul(shift, x.float(), scale), alpha, inverse).to(x.dtype)
    before = F.pad(now, (0, 0, 1, 0))[:, :-1]
    return torch.cat((now, before), 2) @ weight


def residual_unit(x: torch.Tensor, unit: torch.Tensor, point: torch.Tensor, dilation: int) -> torch.Tensor:
    y = _snake(_snake_conv(x, unit, dilation), unit[-2], unit[-1]).to(x.dtype)
    return torch.addmm(x.flatten(0, 1), y.flatten(0, 1), point).view_as(x)


def last_conv(x: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    return torch.tanh(_snake_conv(x, last, 1).sum(2))
