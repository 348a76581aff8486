"""Streams the audio of one request while it is generated. The samples equal those of decoding the whole clip."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import replace

import numpy as np

from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request
from voxcli.errors import SynthesisError


class ClipStream:
    """Iterates over chunks of audio, float32[samples], one patch or more each. Afterwards `clip` has the whole audio.

    A bad case is not generated again, because its audio has already been output. Closing the iterator early cancels the
    request. Other requests in the engine continue, and their clips are collected in `others`.

    Raises SynthesisError if the request fails.
    """

    def __init__(self, engine: Engine, request: Request):
        self.engine = engine
        self._made: deque[np.ndarray] = deque()
        self.request = replace(request, on_audio=self._made.append)
        self.clip: Clip | None = None
        self.others: list[Clip] = []

    def __iter__(self) -> Generator[np.ndarray, None, None]:
        self.engine.add(self.request)
        chunks: list[np.ndarray] = []
        try:
            while self.clip is None:
                for clip in self.engine.step():
                    if clip.request_id == self.request.request_id:
                        self.clip = clip
                    else:
                        self.others.append(clip)
                while self._made:
                    chunks.append(self._made.popleft())
                    yield chunks[-1]
            if self.clip.latents is None:
                raise SynthesisError(self.clip.error or f"the engine returned no audio ({self.clip.stop_reason})")
            self.clip.audio = np.concatenate(chunks)
        finally:
            if self.clip is None:
                self.engine.drop(self.request.request_id)
