"""The VoxCPM2 model: the computations of a step, on batches of rows whose states belong to the engine.

    prefill   embed -> base LM -> FSQ (audio positions) -> fusion -> residual LM   on packed prompts
    patch     LocDiT from the hidden states of both LMs
    advance   LocEnc(new patch) -> base LM -> FSQ -> fusion -> residual LM         one token per row

The model has weights and formulas only: caches, rows and requests belong to the engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from voxcli.kernels import ops
from voxcli.kernels.attention import PagedAttention, PagedBatch
from voxcli.model.config import ModelConfig
from voxcli.model.locdit import LocDiT, Schedule
from voxcli.model.locenc import LocEnc
from voxcli.model.tokenizer import Tokenizer
from voxcli.model.transformer import Linear, Transformer
from voxcli.model.vae import AudioVAE


class FSQ(nn.Module):
    """Finite scalar quantization: rounds the tanh of a projection to multiples of 1 / scale."""

    def __init__(self, width: int, latent: int, scale: int):
        super().__init__()
        self.in_proj = Linear(width, latent)
        self.out_proj = Linear(latent, width)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out_proj(torch.round(torch.tanh(self.in_proj(x)) * self.scale) / self.scale)


@dataclass(frozen=True, eq=False)
class Hidden:
    """The output of the LMs for each row.

    mu:   [rows, 2, dit hidden], the condition of LocDiT.
    stop: bool[rows], the decision of the stop head.
    """

    mu: torch.Tensor
    stop: torch.Tensor


class VoxCPM2(nn.Module):
    tokenizer: Tokenizer

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        lm, width = config.lm_config, config.lm_config.hidden_size
        dit_width = config.locdit.hidden_size
        self.base_lm = Transformer(config.base_lm, lm, config.context, lm.vocab_size)
        self.residual_lm = Transformer(config.residual_lm, lm, config.context)
        self.feat_encoder = LocEnc(config)
        self.feat_decoder = LocDiT(config)
        self.fsq_layer = FSQ(width, config.scalar_quantization_latent_dim, config.scalar_quantization_scale)
        self.enc_to_lm_proj = Linear(config.locenc.hidden_size, width)
        self.lm_to_dit_proj = Linear(width, dit_width)
        self.res_to_dit_proj = Linear(width, dit_width)
        self.fusion_concat_proj = Linear(2 * width, width)
        self.stop_proj = Linear(width, width)
        self.stop_head = Linear(width, 2, bias=False)
        self.audio_vae = AudioVAE(config.audio_vae_config)

    # -- properties ------------------------------------------------------------------------------------------------
    @property
    def device(self) -> torch.device:
        return self.stop_head.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.stop_head.weight.dtype

    @property
    def sample_rate(self) -> int:
        """Sample rate of the output in Hz."""
        return self.config.audio_vae_config.out_sample_rate

    @property
    def encoder_rate(self) -> int:
        """Sample rate of the voice encoder's input in Hz."""
        return self.config.audio_vae_config.sample_rate

    @property
    def patch_shape(self) -> tuple[int, int]:
        """(patch_size, feat_dim)."""
        return self.config.patch_size, self.config.feat_dim

    @property
    def patch_samples(self) -> int:
        """Output samples per patch."""
        return self.config.patch_size * self.audio_vae.decoder_hop

    @property
    def patch_s(self) -> float:
        """Duration of a patch in seconds."""
        return self.patch_samples / self.sample_rate

    # -- formulas ---------------------------------------------------------------------------------------------
    def encode_patches(self, patches: torch.Tensor) -> torch.Tensor:
        """Encode patches [n, patch_size, feat_dim] to embeddings of the LM, [n, hidden]."""
        return self.enc_to_lm_proj(self.feat_encoder(patches.to(self.dtype)))

    def embed(self, token_ids: torch.Tensor, is_audio: torch.Tensor, patches: torch.Tensor) -> torch.Tensor:
        """Embed N packed positions: [N, hidden].

        token_ids: int64[N]; is_audio: bool[N]; patches: [n, patch_size, feat_dim], those of the audio positions in
        order.
        """
        embeds = self.base_lm.embed_tokens(token_ids)
        if len(patches):
            index = (is_audio.cumsum(0) - 1).clamp(min=0)
            embeds = torch.where(is_audio[:, None], self.encode_patches(patches)[index], embeds)
        return embeds

    def advance(
        self,
        embeds: torch.Tensor,
        is_audio: torch.Tensor | None,
        caches: tuple[torch.Tensor, torch.Tensor],
        attend: PagedAttention,
        batch: PagedBatch,
        last: torch.Tensor | None = None,
    ) -> Hidden:
        """Run both LMs on N new positions.

        embeds:   [N, hidden].
        is_audio: bool[N]; None if all positions are audio. Text positions skip FSQ, and the residual LM does not get
                  their embeddings.
        caches:   KV caches of the base LM and of the residual LM.
        last:     int64[n], indices of the positions to return hidden states for; None for all.
        """
        audio = None if is_audio is None else is_audio[:, None]
        hidden = self.base_lm.causal(embeds, attend, caches[0], batch)
        coarse = self.fsq_layer(hidden)
        if audio is not None:
            coarse = torch.where(audio, coarse, hidden)
            embeds = embeds * audio
        fused = self.fusion_concat_proj(torch.cat((coarse, embeds), -1))
        fine = self.residual_lm.causal(fused, attend, caches[1], batch)
        if last is not None:
            coarse, fine = coarse[last], fine[last]
        mu = torch.stack((self.lm_to_dit_proj(coarse), self.res_to_dit_proj(fine)), 1)
        logits = self.stop_head(ops.silu(self.stop_proj(coarse)))
        return Hidden(mu, logits[:, 1] > logits[:, 0])

    def next_patch(
        self, mu: torch.Tensor, cond: torch.Tensor, noise: torch.Tensor, cfg: torch.Tensor, schedule: Schedule
    ) -> torch.Tensor:
        """See LocDiT.forward."""
        return self.feat_decoder(mu, cond, noise, cfg, schedule)
