"""AudioVAE: encodes audio to latents (25 per second at full size) and decodes latents to audio at the output rate.

All convolutions are causal. Their context can be carried in an explicit state, so audio can be processed in pieces of
any length with the same result as in one piece. Weight norm is folded when the weights are loaded. The decoder is
conditioned on the output rate, which is fixed for a checkpoint. Equals `AudioVAE` (v2) of the reference package.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from voxcli.kernels import ops
from voxcli.model.config import AudioVAEConfig
from voxcli.model.transformer import empty_embedding

State = dict[int, torch.Tensor]  # id of a convolution -> the end of its previous input


class Snake(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(1, channels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        alpha = self.alpha[0]
        return ops.snake(x, alpha, (alpha + 1e-9).reciprocal())


class CausalConv(nn.Conv1d):
    """A causal convolution: its padding (zeros, or the carried context) is on the left only.

    With stride 1 the padding is (kernel - 1) * dilation, with stride s and kernel 2s it is s. A convolution with kernel
    1 is computed as a matrix product on a CPU, because the sums of oneDNN's convolution depend on the number of
    threads.
    """

    def __init__(self, cin: int, cout: int, kernel: int, *, dilation: int = 1, stride: int = 1, groups: int = 1):
        super().__init__(cin, cout, kernel, dilation=dilation, stride=stride, groups=groups)
        self.context = (kernel - 1) * dilation + 1 - stride

    def forward(self, x: torch.Tensor, state: State | None = None) -> torch.Tensor:
        if self.kernel_size == (1,) and self.groups == 1 and x.is_cpu:
            assert self.bias is not None
            return ops.mix_channels(self.weight[..., 0], x).add_(self.bias[:, None])
        return super().forward(_with_context(self, x, self.context, state))


class CausalTransposedConv(nn.Module):
    """A causal transposed convolution with kernel 2s and stride s.

    The s output samples of an input sample depend on it and on the previous one. The weight is the matrix of this map,
    [cout * s, 2 * cin]: one matrix product is several times faster than a transposed convolution of few samples, and as
    fast for many.
    """

    def __init__(self, cin: int, cout: int, stride: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cout * stride, 2 * cin))
        self.bias = nn.Parameter(torch.empty(cout))
        self.stride = stride

    @staticmethod
    def matrix(kernel: torch.Tensor) -> torch.Tensor:
        """Convert the kernel of a transposed convolution, [cin, cout, 2 * s], to the matrix, [cout * s, 2 * cin]."""
        now, before = kernel.permute(1, 2, 0).chunk(2, 1)
        return torch.cat((now, before), 2).flatten(0, 1)

    def forward(self, x: torch.Tensor, state: State | None = None) -> torch.Tensor:
        batch, _, samples = x.shape
        x = _with_context(self, x, 1, state)
        y = ops.mix_channels(self.weight, torch.cat((x[..., 1:], x[..., :-1]), 1))
        y = y.view(batch, -1, self.stride, samples) + self.bias[:, None, None]
        return y.transpose(2, 3).reshape(batch, -1, samples * self.stride)


def _with_context(conv: nn.Module, x: torch.Tensor, context: int, state: State | None) -> torch.Tensor:
    if not context:
        return x
    before = state.get(id(conv)) if state is not None else None
    x = F.pad(x, (context, 0)) if before is None else torch.cat((before, x), -1)
    if state is not None:
        state[id(conv)] = x[..., -context:]
    return x


class ResidualUnit(nn.Module):
    def __init__(self, channels: int, dilation: int, groups: int):
        super().__init__()
        self.block = nn.ModuleList(
            [
                Snake(channels),
                CausalConv(channels, channels, 7, dilation=dilation, groups=groups),
                Snake(channels),
                CausalConv(channels, channels, 1),
            ]
        )

    def forward(self, x: torch.Tensor, state: State | None = None) -> torch.Tensor:
        snake_in, wide, snake_out, point = self.block
        return x + point(snake_out(wide(snake_in(x), state)))


class EncoderBlock(nn.Module):
    def __init__(self, channels: int, stride: int, depthwise: bool):
        super().__init__()
        groups = channels if depthwise else 1
        self.block = nn.ModuleList(
            [
                *(ResidualUnit(channels, dilation, groups) for dilation in (1, 3, 9)),
                Snake(channels),
                CausalConv(channels, 2 * channels, 2 * stride, stride=stride),
            ]
        )

    def forward(self, x: torch.Tensor, state: State | None) -> torch.Tensor:
        *units, activation, down = self.block
        for unit in units:
            x = unit(x, state)
        return down(activation(x), state)


class Encoder(nn.Module):
    def __init__(self, config: AudioVAEConfig):
        super().__init__()
        width = config.encoder_dim
        self.block = nn.ModuleList([CausalConv(1, width, 7)])
        for stride in config.encoder_rates:
            self.block.append(EncoderBlock(width, stride, config.depthwise))
            width *= 2
        self.fc_mu = CausalConv(width, config.latent_dim, 3)

    def forward(self, audio: torch.Tensor, state: State | None) -> torch.Tensor:
        x = audio
        for block in self.block:
            x = block(x, state)
        return self.fc_mu(x, state)


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
            return x + self.cond_embed.weight[bucket, :, None]
        return torch.addcmul(self.bias_embed.weight[bucket, :, None], x, self.scale_embed.weight[bucket, :, None])


class DecoderBlock(nn.Module):
    def __init__(self, cin: int, cout: int, stride: int, depthwise: bool):
        super().__init__()
        groups = cout if depthwise else 1
        self.block = nn.ModuleList(
            [
                Snake(cin),
                CausalTransposedConv(cin, cout, stride),
                *(ResidualUnit(cout, dilation, groups) for dilation in (1, 3, 9)),
            ]
        )

    def forward(self, x: torch.Tensor, state: State | None) -> torch.Tensor:
        activation, up, *units = self.block
        x = up(activation(x), state)
        for unit in units:
            x = unit(x, state)
        return x


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
            # Keys are indices into `model`, as in the checkpoint; only the blocks have a condition.
            self.sr_cond_model = nn.ModuleDict(
                {
                    str(self.first + i): RateCondition(config.decoder_dim >> i, len(boundaries) + 1, config.cond_type)
                    for i in range(len(blocks))
                }
            )

    def forward(self, latents: torch.Tensor, state: State | None) -> torch.Tensor:
        x = latents
        for conv in self.model[: self.first]:
            x = conv(x, state)
        for i in range(self.first, self.first + self.blocks):
            if self.sr_cond_model is not None:
                x = self.sr_cond_model[str(i)](x, self.bucket)
            x = self.model[i](x, state)
        activation, last = self.model[-2:]
        return torch.tanh(last(activation(x), state))


class AudioVAE(nn.Module):
    def __init__(self, config: AudioVAEConfig):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.encoder_hop = math.prod(config.encoder_rates)  # input samples per latent
        self.decoder_hop = math.prod(config.decoder_rates)  # output samples per latent

    def encode(self, audio: torch.Tensor, state: State | None = None) -> torch.Tensor:
        """Encode audio [batch, samples] at `sample_rate` to latents [batch, frames, latent_dim].

        The number of samples must be a multiple of `encoder_hop`. state: as in `decode`.
        """
        assert audio.shape[-1] % self.encoder_hop == 0, f"{audio.shape[-1]} samples are not a whole number of latents"
        return self.encoder(audio[:, None], state).transpose(1, 2)

    def decode(self, latents: torch.Tensor, state: State | None = None) -> torch.Tensor:
        """Decode latents [batch, frames, latent_dim] to audio [batch, samples] at `out_sample_rate`.

        state: {} before the first piece of a stream, changed in place by each call. The joined pieces equal the result
               for all latents at once. None: the latents are not part of a stream.
        """
        return self.decoder(latents.transpose(1, 2), state)[:, 0]
