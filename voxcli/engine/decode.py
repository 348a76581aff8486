"""Latents of finished clips to audio, many clips at a time, each latent once.

On CUDA whole clips go through the fused decoder of `ClipDecoder`, in 16 bit. Elsewhere the decoder carries its context
from piece to piece, so memory is bounded by the piece whatever a clip's length. A piece has enough frames for matrix
products of some width, and on a CPU few enough to stay in its cache: on one core of an AMD EPYC 7003 a 24 kHz decoder
whose last block is 32 channels wide took 0.097 s a second of audio in pieces of 8 frames, 0.076 s in pieces of 24,
0.087 s whole; sixteen clips side by side, a frame of each at a time, three times that.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.vae import State
from voxcli.model.voxcpm2 import VoxCPM2

MIN_FRAMES = 16  # of each clip in one call
CONTEXT_PATCHES = 3  # of the prompt, decoded before a continuation and cut off, as the reference does
WHOLE_BYTES = 3 * 2**30  # most memory of one call on whole clips; a longer clip goes alone


class AudioDecoder:
    def __init__(self, model: VoxCPM2, clips: int):
        """clips: most clips at a time."""
        self.model = model
        vae = model.config.audio_vae_config
        self.fused = ClipDecoder(model.audio_vae) if model.device.type == "cuda" and ClipDecoder.fits(vae) else None
        last_width = vae.decoder_dim >> len(vae.decoder_rates)  # channels of the last block
        widest = last_width * model.audio_vae.decoder_hop  # numbers it has for a frame
        numbers = 700_000 if model.device.type == "cpu" else 64_000_000
        self.frames = max(MIN_FRAMES, numbers // widest)  # latent frames in one call of the VAE, over all clips
        self.clips = clips

    def decode(self, latents: list[torch.Tensor], *, exact: bool = False) -> list[torch.Tensor]:
        """float32[patches, patch_size, feat_dim] each, to float32[patches * patch_samples] each, on the model's device.

        exact: in float32, whatever the device. Queued on the current stream; nothing waits for the device.
        """
        audio: list[torch.Tensor] = [torch.empty(0)] * len(latents)
        for group in self._groups([len(clip) for clip in latents], whole=self.fused is not None and not exact):
            padded = torch.nn.utils.rnn.pad_sequence([latents[i] for i in group], batch_first=True).flatten(1, 2)
            # A causal decoder: what stands behind a clip's last latent does not reach its samples.
            if self.fused is not None and not exact:
                whole = self.fused(padded)
            else:
                whole = torch.cat(list(self._pieces(padded)), 1)
            for row, i in enumerate(group):
                audio[i] = whole[row, : len(latents[i]) * self.model.patch_samples].clone()
        return audio

    def _groups(self, patches: list[int], whole: bool) -> Iterator[list[int]]:
        """Clips of like length together: the shorter ones of a group are padded to its longest."""
        order = sorted(range(len(patches)), key=lambda i: patches[i])
        limit = self.clips if whole else min(self.clips, self.frames // MIN_FRAMES)
        if self.model.device.type == "cpu":
            limit = 1  # nothing is gained there by more, and so a clip's last bits do not depend on the others
        while order:
            count = limit
            if whole and self.fused is not None:
                longest = max(1, patches[order[-1]] * self.model.config.patch_size)
                count = max(1, min(limit, WHOLE_BYTES // (longest * self.fused.bytes_per_frame)))
            yield order[-count:]
            del order[-count:]

    def _pieces(self, frames: torch.Tensor) -> Iterator[torch.Tensor]:
        state: State = {}
        for piece in frames.to(self.model.device).split(max(1, self.frames // len(frames)), 1):
            yield self.model.audio_vae.decode(piece, state)
