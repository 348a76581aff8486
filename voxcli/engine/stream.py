"""Streams the audio of one request while it is generated. The samples equal those of decoding the whole clip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from voxcli.engine.decode import CONTEXT_PATCHES
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request
from voxcli.errors import SynthesisError
from voxcli.model.vaeconv import State


class ClipStream:
    """Iterates over chunks of audio, float32[samples], one patch or more each. Afterwards `clip` has the whole audio.

    A bad case is not generated again, because its audio has already been output. Closing the iterator early cancels the
    request. Other requests in the engine continue, and their clips are collected in `others`.

    Raises SynthesisError if the request fails.
    """

    def __init__(self, engine: Engine, request: Request):
        self.engine = engine
        self.request = replace(request, sampling=replace(request.sampling, attempts=1), decode=False)
        self.clip: Clip | None = None
        self.others: list[Clip] = []

    def __iter__(self) -> Iterator[np.ndarray]:
        self.engine.add(self.request)
        prompt, state = self.request.prompt, State()
        if prompt.continues:
            self._decode(prompt.patches[-CONTEXT_PATCHES:], state)
        chunks: list[np.ndarray] = []
        sent = 0
        try:
            while self.clip is None:
                for clip in self.engine.step():
                    if clip.request_id == self.request.request_id:
                        self.clip = clip
                    else:
                        self.others.append(clip)
                new = self._new_patches(sent)
                if len(new):
                    sent += len(new)
                    chunks.append(self._decode(new, state))
                    yield chunks[-1]
            self.clip.audio = np.concatenate(chunks)
        finally:
            if self.clip is None:
                self.engine.drop(self.request.request_id)

    def _new_patches(self, sent: int) -> torch.Tensor:
        if self.clip is None:
            return self.engine.patches_so_far(self.request.request_id, sent)
        if self.clip.latents is None:
            raise SynthesisError(self.clip.error or f"the engine returned no audio ({self.clip.stop_reason})")
        return self.clip.latents[sent:]

    @torch.inference_mode()
    def _decode(self, patches: torch.Tensor, state: State) -> np.ndarray:
        model = self.engine.model
        return model.audio_vae.decode(patches.flatten(0, 1)[None].to(model.device), state)[0].cpu().numpy()
