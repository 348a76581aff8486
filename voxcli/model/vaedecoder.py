"""The decoder of the AudioVAE: latents to audio, [batch, times, channels] throughout.

This layout suits CPUs: oneDNN's depthwise convolutions take a third of the time, the context of a convolution is a few
rows in front of its input, and the output of a transposed convolution needs no transposition.
Equals the decoder of `AudioVAE` (v2) of the reference package.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from voxcli.kernels import ops
from voxcli.model.config import AudioVAEConfig
from voxcli.model.transformer import empty_embedding
from voxcli.model.vaeconv import CausalConv, ResidualUnit, Snake, State, parts


class CausalTransposedConv(nn.Module):
    """A causal transposed convolution with kernel 2s and stride s.

    The s output samples of an input sample depend on it and on the previous one. The weight is the matrix of this map,
    [s * cout, 2 * cin]: one matrix product is several times faster than a transposed convolution of few samples, and as
    fast for many.
    """

    def __init__(self, cin: int, cout: int, stride: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cout * stride, 2 * cin))
        self.bias = nn.Parameter(torch.empty(cout))
        self.stride = stride

    @staticmethod
    def matrix(kernel: torch.Tensor) -> torch.Tensor:
        """Convert the kernel of a transposed convolution, [cin, cout, 2 * s], to the matrix, [s * cout, 2 * cin]."""
        now, before = kernel.permute(2, 1, 0).chunk(2)
        return torch.cat((now, before), 2).flatten(0, 1)

    def forward(self, x: torch.Tensor, activation: Snake, state: State | None) -> torch.Tensor:
        """Apply the activation and the convolution: [batch, times, cin] to [batch, times * s, cout]."""
        y = _activated(x, activation, self, 1, state)
        y = _product(torch.cat((y[:, 1:], y[:, :-1]), 2), self.weight)
        return y.view(len(x), -1, len(self.bias)).add_(self.bias)


class DecoderUnit(ResidualUnit):
    def forward(self, x: torch.Tensor, state: State | None) -> torch.Tensor:
        snake_in, wide, snake_out, point = parts(self.block)
        y = _conv(wide, _activated(x, snake_in, wide, wide.context, state))
        y = ops.snake(y, *_numbers(snake_out), out=y.new_empty(y.shape))
        return _product(y, point.weight[..., 0]).add_(point.bias).add_(x)


class DecoderBlock(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int, depthwise: bool):
        super().__init__()
        groups = cout if depthwise else 1
        self.block = nn.ModuleList(
            [
                Snake(cin),
                CausalTransposedConv(cin, cout, stride),
                *(DecoderUnit(cout, dilation, groups) for dilation in (1, 3, 9)),
            ]
        )

    def forward(self, x: torch.Tensor, state: State | None) -> torch.Tensor:
        activation, up, *units = parts(self.block)
        x = up(x, activation, state)
        for unit in units:
            x = unit(x, state)
        return x


class RateCondition(nn.Module):
    """A learned scale and bias (or, for kind "add", only a bias) for each bucket of output rates."""

    def __init__(self, channels: int, buckets: int, kind: str):
        super().__init__()
        if kind == "add":
            self.cond_embed = empty_embedding(buckets, channels)
        else:
            self.scale_embed = empty_embedding(buckets, channels)
            self.bias_embed = empty_embedding(buckets, channels)

    def forward(self, x: torch.Tensor, bucket: int) -> torch.Tensor:
        if hasattr(self, "cond_embed"):
            return x + self.cond_embed.weight[bucket]
        return torch.addcmul(self.bias_embed.weight[bucket], x, self.scale_embed.weight[bucket])


class Decoder(nn.Module):
    def __init__(self, config: AudioVAEConfig):
        super().__init__()
        width = config.decoder_dim
        first: list[nn.Module]
        if config.depthwise:
            latent = config.latent_dim
            first = [CausalConv(latent, latent, 7, groups=latent), CausalConv(latent, width, 1)]
        else:
            first = [CausalConv(config.latent_dim, width, 7)]
        blocks = []
        for stride in config.decoder_rates:
            blocks.append(DecoderBlock(width, width // 2, stride, config.depthwise))
            width //= 2
        self.model = nn.ModuleList([*first, *blocks, Snake(width), CausalConv(width, 1, 7)])
        self.first, self.blocks = len(first), len(blocks)
        boundaries = config.sr_bin_boundaries
        if boundaries is None:
            self.sr_cond_model = None
        else:
            self.bucket = sum(config.out_sample_rate > edge for edge in boundaries)
            # Indexed like `model`, so that the checkpoint's names fit; only blocks have a condition.
            self.sr_cond_model = nn.ModuleDict(
                {
                    str(self.first + i): RateCondition(config.decoder_dim >> i, len(boundaries) + 1, config.cond_type)
                    for i in range(len(blocks))
                }
            )

    def forward(self, latents: torch.Tensor, state: State | None) -> torch.Tensor:
        """[batch, frames, latent_dim] to [batch, samples]. state: see `AudioVAE.decode`."""
        x = latents
        for conv in parts(self.model[: self.first]):
            if conv.kernel_size == (1,):
                x = _product(x, conv.weight[..., 0]).add_(conv.bias)
            else:
                x = _conv(conv, _with_context(x, conv, conv.context, state))
        for i in range(self.first, self.first + self.blocks):
            if self.sr_cond_model is not None:
                x = self.sr_cond_model[str(i)](x, self.bucket)
            x = self.model[i](x, state)
        activation, last = parts(self.model[-2:])
        return torch.tanh(_conv(last, _activated(x, activation, last, last.context, state)))[..., 0]


def _numbers(activation: Snake) -> tuple[torch.Tensor, torch.Tensor]:
    """Return alpha and 1 / alpha, [channels] each."""
    alpha = activation.alpha[0, :, 0]
    return alpha, (alpha + 1e-9).reciprocal()


def _product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x @ weight.T: [batch, times, cin] and [cout, cin] to [batch, times, cout]."""
    return torch.mm(x.flatten(0, 1), weight.t()).view(*x.shape[:-1], len(weight))


def _conv(conv: CausalConv, x: torch.Tensor) -> torch.Tensor:
    """[batch, context + times, cin] to [batch, times, cout]."""
    x = x.transpose(1, 2)
    if not x.is_cpu:  # cuDNN would plan a convolution in this layout anew for each number of streams
        y = F.conv1d(x.contiguous(), conv.weight, conv.bias, dilation=conv.dilation, groups=conv.groups)
        return y.transpose(1, 2).contiguous()
    y = F.conv2d(
        x[:, :, None],  # [batch, cin, 1, times], channels last in memory
        conv.weight[:, :, None],
        conv.bias,
        dilation=(1, conv.dilation[0]),
        groups=conv.groups,
    )
    return y[:, :, 0].transpose(1, 2).contiguous()


def _with_context(x: torch.Tensor, conv: nn.Module, context: int, state: State | None) -> torch.Tensor:
    """Return x with `context` rows in front: the end of the previous piece, or zeros."""
    y = _room(x, conv, context, state)
    y[:, context:] = x
    return _remembered(y, conv, context, state)


def _activated(x: torch.Tensor, activation: Snake, conv: nn.Module, context: int, state: State | None) -> torch.Tensor:
    """Return the activated x with context in front; it is written where the convolution reads it."""
    y = _room(x, conv, context, state)
    ops.snake(x, *_numbers(activation), out=y[:, context:])
    return _remembered(y, conv, context, state)


def _room(x: torch.Tensor, conv: nn.Module, context: int, state: State | None) -> torch.Tensor:
    y = x.new_empty(len(x), context + x.shape[1], x.shape[2])
    before = state.get(id(conv)) if state is not None else None
    y[:, :context] = 0 if before is None else before
    return y


def _remembered(y: torch.Tensor, conv: nn.Module, context: int, state: State | None) -> torch.Tensor:
    if state is not None:
        state[id(conv)] = y[:, -context:].clone()  # a view would keep all of y in memory
    return y
