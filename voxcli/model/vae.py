"""AudioVAE: encodes audio to latents (25 per second at full size) and decodes latents to audio at the output rate.

All convolutions are causal. Their context can be carried in an explicit state, so audio can be processed in pieces of
any length with the same result as in one piece. Weight norm is folded when the weights are loaded. The decoder is
conditioned on the output rate, which is fixed for a checkpoint. Equals `AudioVAE` (v2) of the reference package.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from voxcli.model.config import AudioVAEConfig
from voxcli.model.vaeconv import CausalConv, ResidualUnit, Snake, State
from voxcli.model.vaedecoder import Decoder


class EncoderUnit(ResidualUnit):
    def forward(self, x: torch.Tensor, state: State | None = None) -> torch.Tensor:
        snake_in, wide, snake_out, point = self.block
        return x + point(snake_out(wide(snake_in(x), state)))


class EncoderBlock(nn.Module):
    def __init__(self, channels: int, stride: int, depthwise: bool):
        super().__init__()
        groups = channels if depthwise else 1
        self.block = nn.ModuleList(
            [
                *(EncoderUnit(channels, dilation, groups) for dilation in (1, 3, 9)),
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
        return self.decoder(latents, state)
