"""Decodes latents to audio, many clips at a time.

On CUDA, groups of whole clips are decoded in 16 bits by the fused `ClipDecoder`. On other devices clips are decoded in
pieces, with the decoder's context carried from piece to piece, so memory does not depend on a clip's length. A piece
has enough frames for efficient matrix products, but on a CPU few enough to stay in the processor's cache. Measured on
one core of an AMD EPYC 7003 with a 24 kHz decoder whose last block has 32 channels: a second of audio took 0.097 s in
pieces of 8 frames, 0.076 s in pieces of 24 frames and 0.087 s in one piece. Sixteen clips in parallel, one frame of
each at a time, took three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.vaeconv import State
from voxcli.model.voxcpm2 import VoxCPM2

MIN_FRAMES = 16  # minimum number of frames of each clip per call
CONTEXT_PATCHES = 3  # patches of prompt audio decoded before a continuation and cut off, as in the reference
MAX_CALL_BYTES = 3 * 2**30  # memory limit of one call on whole clips; a clip that needs more is decoded alone


class AudioDecoder:
    def __init__(self, model: VoxCPM2, clips: int):
        """clips: maximum number of clips per call."""
        self.model = model
        vae = model.config.audio_vae_config
        self.fused = ClipDecoder(model.audio_vae) if model.device.type == "cuda" and ClipDecoder.fits(vae) else None
        last_width = vae.decoder_dim >> len(vae.decoder_rates)  # channels of the last block
        widest = last_width * model.audio_vae.decoder_hop  # its values per latent frame
        values = 700_000 if model.device.type == "cpu" else 64_000_000
        self.frames = max(MIN_FRAMES, values // widest)  # latent frames per call of the VAE, over all clips
        self.clips = clips

    def decode(self, latents: list[torch.Tensor], *, exact: bool = False) -> list[torch.Tensor]:
        """Decode clips to audio on the model's device.

        latents: float32[patches, patch_size, feat_dim] for each clip.
        exact:   decode in float32 on every device.

        Returns float32[patches * patch_samples] for each clip. The work is queued on the current CUDA stream; the call
        does not wait for it.
        """
        audio: list[torch.Tensor] = [torch.empty(0)] * len(latents)
        for group in self._groups([len(clip) for clip in latents], whole=self.fused is not None and not exact):
            padded = torch.nn.utils.rnn.pad_sequence([latents[i] for i in group], batch_first=True).flatten(1, 2)
            # The decoder is causal: padding after a clip's last latent does not affect its samples.
            if self.fused is not None and not exact:
                whole = self.fused(padded)
            else:
                whole = torch.cat(list(self._pieces(padded)), 1)
            for row, i in enumerate(group):
                audio[i] = whole[row, : len(latents[i]) * self.model.patch_samples].clone()
        return audio

    def _groups(self, patches: list[int], whole: bool) -> Iterator[list[int]]:
        """Yield groups of indices with similar lengths, because clips are padded to the longest of their group."""
        order = sorted(range(len(patches)), key=lambda i: patches[i])
        limit = self.clips if whole else min(self.clips, self.frames // MIN_FRAMES)
        if self.model.device.type == "cpu":
            limit = 1  # more are not faster there, and a clip's bits must not depend on other clips
        while order:
            count = limit
            if whole and self.fused is not None:
                longest = max(1, patches[order[-1]] * self.model.config.patch_size)
                count = max(1, min(limit, MAX_CALL_BYTES // (longest * self.fused.bytes_per_frame)))
            yield order[-count:]
            del order[-count:]

    def _pieces(self, frames: torch.Tensor) -> Iterator[torch.Tensor]:
        state: State = {}
        for piece in frames.to(self.model.device).split(max(1, self.frames // len(frames)), 1):
            yield self.model.audio_vae.decode(piece, state)
