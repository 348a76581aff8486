"""The audio VAE's decoder for whole clips, many at a time: [batch, times, channels] throughout, few passes over memory.

`vae.Decoder` is the same in plain layers, for CPUs and for streams; this one has no state. Made once from loaded
weights: the scale and bias of each block's condition go into the block's first activation, the first two
convolutions into one product, and the biases of products into what reads their results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from voxcli.kernels import ops
from voxcli.model.config import AudioVAEConfig
from voxcli.model.vae import AudioVAE, DecoderBlock, RateCondition, Snake


class ClipDecoder:
    """Latents float32[batch, frames, latent_dim] to audio float32[batch, samples], each row from silence.

    Causal: what stands behind a row's last latent does not reach the samples before it.
    """

    def __init__(self, vae: AudioVAE, dtype: torch.dtype | None = None):
        """dtype: of activations and matrices. Default: float16 on CUDA (bfloat16 is audible), else float32."""
        assert self.fits(vae.config), "a decoder of dense convolutions is decoded by vae.Decoder"
        decoder = vae.decoder
        wide, narrow, *blocks, activation, last = _parts(decoder.model)
        conditions = [None] * len(blocks) if decoder.sr_cond_model is None else _parts(decoder.sr_cond_model.values())
        bucket = 0 if decoder.sr_cond_model is None else decoder.bucket
        self.config = vae.config
        self.dtype = dtype or (torch.float16 if wide.weight.is_cuda else torch.float32)
        with torch.inference_mode():
            point = narrow.weight[..., 0].float()
            # [latent_dim * taps, decoder_dim]
            self.first = torch.einsum("oc,ck->cko", point, wide.weight[:, 0].float()).flatten(0, 1).to(self.dtype)
            missing = point @ wide.bias.float() + narrow.bias.float()
            self.blocks: list[_Block] = []
            for block, condition in zip(blocks, conditions, strict=True):
                scale, shift = _condition(condition, missing, bucket)
                self.blocks.append(_Block(block, scale, shift, self.dtype))
                missing = self.blocks[-1].missing
            spread = last.bias.float().expand(len(missing)) / len(missing)
            self.last = torch.stack((missing, *_snake(activation), *last.weight[0].float().t(), spread)).contiguous()

    @staticmethod
    def fits(config: AudioVAEConfig) -> bool:
        """Whether such a decoder can be decoded here: its convolutions along time are depthwise."""
        return config.depthwise

    @property
    def bytes_per_frame(self) -> int:
        """Memory that a latent frame takes at the peak of a call, at most, beside the weights."""
        numbers, width, times = [], self.config.decoder_dim, 1
        for stride in self.config.decoder_rates:
            before, times = width * times, times * stride
            width //= 2
            numbers += [3 * before + width * times, 2 * width * times]  # upsampling; a residual unit
        return max(numbers) * self.dtype.itemsize + times * 4

    def __call__(self, latents: torch.Tensor) -> torch.Tensor:
        taps = len(self.first) // latents.shape[2]
        windows = F.pad(latents, (0, 0, taps - 1, 0)).to(self.dtype).unfold(1, taps, 1)
        x = windows.flatten(2) @ self.first
        for block in self.blocks:  # one loop, so that nothing holds on to what has been read
            x = ops.upsample(x, block.entry, block.weight).view(len(x), -1, len(block.missing))
            for table, matrix, dilation in block.units:
                x = ops.residual_unit(x, table, matrix, dilation)
        return ops.last_conv(x, self.last)


class _Block:
    """The parameters of a `vae.DecoderBlock`. `missing`: float32[channels], what its result lacks."""

    def __init__(self, block: DecoderBlock, scale: torch.Tensor, shift: torch.Tensor, dtype: torch.dtype):
        activation, up, *units = _parts(block.block)
        self.entry = torch.stack((scale, shift, *_snake(activation))).contiguous()
        self.weight = up.weight.unflatten(0, (-1, up.stride)).permute(2, 1, 0).flatten(1).to(dtype).contiguous()
        self.missing = up.bias.float()
        self.units: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        for unit in units:
            snake_in, wide, snake_out, point = _parts(unit.block)
            table = (self.missing, *_snake(snake_in), *wide.weight[:, 0].float().t(), wide.bias.float())
            matrix = point.weight[..., 0].t().to(dtype).contiguous()
            self.units.append((torch.stack((*table, *_snake(snake_out))).contiguous(), matrix, wide.dilation[0]))
            self.missing = self.missing + point.bias.float()


def _parts(modules: Iterable[nn.Module]) -> list[Any]:
    return list(modules)


def _snake(activation: Snake) -> tuple[torch.Tensor, torch.Tensor]:
    """alpha and 1 / alpha."""
    alpha = activation.alpha[0, :, 0].float()
    return alpha, (alpha + 1e-9).reciprocal()


def _condition(
    condition: RateCondition | None, missing: torch.Tensor, bucket: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scale and shift that make a block's input of a stream that lacks `missing`."""
    if condition is None:
        return torch.ones_like(missing), missing
    if hasattr(condition, "cond_embed"):
        return torch.ones_like(missing), missing + condition.cond_embed.weight[bucket].float()
    scale = condition.scale_embed.weight[bucket].float()
    return scale, torch.addcmul(condition.bias_embed.weight[bucket].float(), missing, scale)
