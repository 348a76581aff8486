"""The audio VAE's decoder for batches of whole clips, with few passes over memory: [batch, times, channels] throughout.

`vaedecoder.Decoder` computes the same with plain layers, for CPUs and streams; this decoder has no state. It is built
once from loaded weights: the scale and bias of each block's condition are folded into the block's first activation, the
first two convolutions into one product, and the biases of products into the operations that read their results.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from voxcli.kernels import ops
from voxcli.model.config import AudioVAEConfig
from voxcli.model.vae import AudioVAE
from voxcli.model.vaeconv import Snake, parts
from voxcli.model.vaedecoder import DecoderBlock, RateCondition


class ClipDecoder:
    """Decodes latents float32[batch, frames, latent_dim] to audio float32[batch, samples].

    The decoder is causal: padding after a row's last latent does not affect the samples before it.
    """

    def __init__(self, vae: AudioVAE, dtype: torch.dtype | None = None):
        """dtype: of activations and matrices; None: float16 on CUDA (bfloat16 is audible), else float32."""
        assert self.fits(vae.config), "dense convolutions need vaedecoder.Decoder"
        decoder = vae.decoder
        wide, narrow, *blocks, activation, last = parts(decoder.model)
        conditions = [None] * len(blocks) if decoder.sr_cond_model is None else parts(decoder.sr_cond_model.values())
        bucket = 0 if decoder.sr_cond_model is None else decoder.bucket
        self.config = vae.config
        self.dtype = dtype or (torch.float16 if wide.weight.is_cuda else torch.float32)
        with torch.inference_mode():
            point = narrow.weight[..., 0].float()
            # [latent_dim * taps, decoder_dim]
            self.first = torch.einsum("oc,ck->cko", point, wide.weight[:, 0].float()).flatten(0, 1).to(self.dtype)
            offset = point @ wide.bias.float() + narrow.bias.float()
            self.blocks: list[_Block] = []
            for block, condition in zip(blocks, conditions, strict=True):
                scale, shift = _condition(condition, offset, bucket)
                self.blocks.append(_Block(block, scale, shift, self.dtype))
                offset = self.blocks[-1].offset
            spread = last.bias.float().expand(len(offset)) / len(offset)
            self.last = torch.stack((offset, *_snake(activation), *last.weight[0].float().t(), spread)).contiguous()

    @staticmethod
    def fits(config: AudioVAEConfig) -> bool:
        """Return whether this class supports a decoder: its convolutions along time must be depthwise."""
        return config.depthwise

    @property
    def bytes_per_frame(self) -> int:
        """Upper bound of the bytes per latent frame at the peak of a call, without the weights."""
        values, width, times = [], self.config.decoder_dim, 1
        for stride in self.config.decoder_rates:
            before, times = width * times, times * stride
            width //= 2
            values += [3 * before + width * times, 2 * width * times]  # upsampling; a residual unit
        return max(values) * self.dtype.itemsize + times * 4

    def __call__(self, latents: torch.Tensor) -> torch.Tensor:
        taps = len(self.first) // latents.shape[2]
        windows = F.pad(latents, (0, 0, taps - 1, 0)).to(self.dtype).unfold(1, taps, 1)
        x = windows.flatten(2) @ self.first
        for block in self.blocks:  # rebinding x frees each input before the next allocation
            x = ops.upsample(x, block.entry, block.weight).view(len(x), -1, len(block.offset))
            for table, matrix, dilation in block.units:
                x = ops.residual_unit(x, table, matrix, dilation)
        return ops.last_conv(x, self.last)


class _Block:
    """The parameters of a `vaedecoder.DecoderBlock`.

    offset: float32[channels], the sum of biases that have not been added to the block's output yet.
    """

    def __init__(self, block: DecoderBlock, scale: torch.Tensor, shift: torch.Tensor, dtype: torch.dtype):
        activation, up, *units = parts(block.block)
        self.entry = torch.stack((scale, shift, *_snake(activation))).contiguous()
        self.weight = up.weight.t().to(dtype).contiguous()
        self.offset = up.bias.float()
        self.units: list[tuple[torch.Tensor, torch.Tensor, int]] = []
        for unit in units:
            snake_in, wide, snake_out, point = parts(unit.block)
            table = (self.offset, *_snake(snake_in), *wide.weight[:, 0].float().t(), wide.bias.float())
            matrix = point.weight[..., 0].t().to(dtype).contiguous()
            self.units.append((torch.stack((*table, *_snake(snake_out))).contiguous(), matrix, wide.dilation[0]))
            self.offset = self.offset + point.bias.float()


def _snake(activation: Snake) -> tuple[torch.Tensor, torch.Tensor]:
    """Return alpha and 1 / alpha, float32[channels] each."""
    alpha = activation.alpha[0, :, 0].float()
    return alpha, (alpha + 1e-9).reciprocal()


def _condition(condition: RateCondition | None, offset: torch.Tensor, bucket: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the scale and shift that turn a stream, to which `offset` has not been added, into a block's input."""
    if condition is None:
        return torch.ones_like(offset), offset
    if hasattr(condition, "cond_embed"):
        return torch.ones_like(offset), offset + condition.cond_embed.weight[bucket].float()
    scale = condition.scale_embed.weight[bucket].float()
    return scale, torch.addcmul(condition.bias_embed.weight[bucket].float(), offset, scale)
