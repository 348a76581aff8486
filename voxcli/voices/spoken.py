"""A voice that the model drew itself: the beginning of a line that was spoken without one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.flac import flac_of
from voxcli.audio.levels import quietest_place
from voxcli.voices.store import Latents, VoiceInfo, VoiceOrigin, write_voice

MAX_S = 20.0  # each line takes as many positions of the cache for it


@dataclass(frozen=True, eq=False)
class SpokenVoice:
    """A clip whose voice is to be used again.

    samples:  float32[n], mono at `rate` Hz.
    latents:  float32[patches, patch_size, feat_dim], of which the samples were decoded.
    doubtful: it is far too long or short for its text.
    """

    samples: NDArray[np.float32]
    rate: int
    latents: Latents
    doubtful: bool = False

    def cut(self) -> SpokenVoice:
        """Return the part before the last pause of the first MAX_S seconds, in whole patches."""
        stop = int(MAX_S * self.rate)
        if len(self.samples) <= stop:
            return self
        patch = len(self.samples) / len(self.latents)
        patches = max(1, int(quietest_place(self.samples, self.rate, stop * 2 // 3, stop) / patch))
        samples, latents = self.samples[: int(patches * patch)], self.latents[:patches].copy()
        return SpokenVoice(samples, self.rate, latents, self.doubtful)

    def write(self, path: Path, encoder: str, origin: VoiceOrigin) -> None:
        """Write the voice file `path`. encoder: identity of the model's voice encoder. Raises OutputError."""
        part = self.cut()
        recording = flac_of(part.samples, part.rate)
        info = VoiceInfo(
            encoder=encoder,
            recording=origin.id,
            sha256=hashlib.sha256(recording).hexdigest(),
            seconds=round(len(part.samples) / part.rate, 2),
            origin=origin,
        )
        write_voice(path, info, {"reference": np.ascontiguousarray(part.latents)}, recording)
