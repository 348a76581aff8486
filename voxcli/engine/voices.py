"""Encodes audio of voices to latents, cached by content, so that a voice used by many lines is encoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F

from voxcli import faults
from voxcli.errors import RequestError
from voxcli.model.vaeconv import State
from voxcli.model.voxcpm2 import VoxCPM2

Padding = Literal["right", "left"]


class VoiceEncoder:
    def __init__(self, model: VoxCPM2, capacity: int):
        """capacity: maximum number of voices in the cache; the least recently used are removed first."""
        self.model, self.capacity = model, capacity
        self._cache: OrderedDict[tuple[str, Padding], torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, samples: np.ndarray, key: str, padding: Padding) -> torch.Tensor:
        """Encode audio to latents, float32[patches, patch_size, feat_dim], on the CPU.

        samples: float32[samples] at the model's `encoder_rate`, one channel.
        key:     identifies the content of `samples` (a hash); together with the padding the key of the cache.
        padding: side on which zeros are added up to a whole number of patches: "right" for a reference, "left" for
                 audio to continue.

        Raises RequestError if `samples` is empty or has more than one dimension.
        """
        if samples.ndim != 1 or not len(samples):
            raise RequestError(f"a voice must be one channel of samples, not an array of shape {samples.shape}")
        with self._lock:
            latents = self._cache.get((key, padding))
            if latents is None:
                latents = self._encode(samples, padding)
                self._cache[key, padding] = latents
                while len(self._cache) > self.capacity:
                    self._cache.popitem(last=False)
            self._cache.move_to_end((key, padding))
        return latents.clone()  # callers may change their copy

    @torch.inference_mode()
    def _encode(self, samples: np.ndarray, padding: Padding) -> torch.Tensor:
        patch_size, feat_dim = self.model.patch_shape
        vae = self.model.audio_vae
        audio = torch.from_numpy(np.ascontiguousarray(samples, dtype=np.float32))
        missing = -len(audio) % (patch_size * vae.encoder_hop)
        audio = F.pad(audio, (missing, 0) if padding == "left" else (0, missing))
        state: State = {}
        pieces = [
            vae.encode(piece[None].to(self.model.device), state).cpu()
            for piece in audio.split(self.model.encoder_rate // vae.encoder_hop * vae.encoder_hop)
        ]
        latents = torch.cat(pieces, 1).view(-1, patch_size, feat_dim)
        return latents.fill_(torch.nan) if faults.point("encode") else latents
