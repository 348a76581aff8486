"""From the latents of finished clips to their samples, beside the steps of those that still run.

Clips are gathered into groups. On CUDA a group is decoded on a stream of its own and copied to the CPU behind that, and
it is asked for later: no step waits for audio. Elsewhere it is done at once.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch

from voxcli import faults
from voxcli.engine.decode import CONTEXT_PATCHES, AudioDecoder
from voxcli.engine.request import StopReason
from voxcli.engine.sequence import Sequence
from voxcli.engine.transfer import Download, check_device
from voxcli.errors import in_one_line
from voxcli.memory import is_out_of_memory
from voxcli.model.voxcpm2 import VoxCPM2


@dataclass(eq=False)
class Finished:
    """A sequence whose latents, float32[patches, patch_size, feat_dim] on the device, wait for the audio decode."""

    sequence: Sequence
    latents: torch.Tensor
    reason: StopReason
    cancelled: bool = False

    @property
    def context(self) -> torch.Tensor:
        """Patches of the prompt that a continuation is decoded after; none otherwise."""
        prompt = self.sequence.request.prompt
        return prompt.patches[-CONTEXT_PATCHES:] if prompt.continues else prompt.patches[:0]

    def behind_context(self, latents: torch.Tensor) -> torch.Tensor:
        return torch.cat((self.context.to(latents.device), latents)) if len(self.context) else latents


@dataclass(frozen=True, eq=False)
class Decoded:
    """A clip with its audio, float32[samples], and its latents on the CPU, or with an error.

    seconds: of the decode, a clip's share of its group's.
    """

    finished: Finished
    audio: np.ndarray | None = None
    latents: torch.Tensor | None = None
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class _Group:
    """Clips whose audio is on its way to the CPU. sound: whether all numbers of a clip are finite."""

    members: list[Finished]
    audio: list[Download]
    latents: list[Download]
    finite: Download
    began: float


class AudioStage:
    def __init__(self, model: VoxCPM2, clips: int):
        """clips: in a group."""
        self.decoder = AudioDecoder(model, clips)
        self._model, self._clips = model, clips
        self._stream = torch.cuda.Stream(model.device) if model.device.type == "cuda" else None
        self._waiting: list[Finished] = []
        self._on_the_way: deque[_Group] = deque()
        self._failed: list[Decoded] = []
        self.no_room: str | None = None  # why the last `collect` left a clip waiting: memory ran out

    def _all(self) -> list[Finished]:
        on_the_way = [finished for group in self._on_the_way for finished in group.members]
        return [*self._waiting, *on_the_way, *(decoded.finished for decoded in self._failed)]

    def __len__(self) -> int:
        return len(self._all())

    def add(self, finished: Finished) -> None:
        self._waiting.append(finished)

    def cancel(self, request_id: str) -> Sequence | None:
        """Drop a clip and return its sequence; None when there is none of that id."""
        for finished in self._all():
            if finished.sequence.request_id == request_id and not finished.cancelled:
                finished.cancelled = True
                return finished.sequence
        return None

    def collect(self, idle: bool) -> list[Decoded]:
        """Start groups that are full and return clips that are ready.

        idle: nothing else runs, so start all and wait.

        When memory runs out groups become smaller; a clip that has no room alone waits for somebody to make some.
        """
        self.no_room = None
        self._waiting = [finished for finished in self._waiting if not finished.cancelled]
        while self._waiting and self.no_room is None and (idle or len(self._waiting) >= self._clips):
            group, self._waiting = self._waiting[: self._clips], self._waiting[self._clips :]
            self._start(group)
        ready, self._failed = self._failed, []
        while self._on_the_way and (idle or self._on_the_way[0].finite.ready):
            ready += self._take(self._on_the_way.popleft())
        return [decoded for decoded in ready if not decoded.finished.cancelled]

    def give_up(self) -> None:
        """End the clip that has no room with that error."""
        assert self.no_room is not None
        self._failed.append(Decoded(self._waiting.pop(0), error=f"audio decode failed: {self.no_room}"))

    def _beside(self) -> AbstractContextManager[None]:
        """What runs inside is queued behind the steps queued so far, and holds none of the later ones up."""
        if self._stream is None:
            return nullcontext()
        self._stream.wait_stream(torch.cuda.current_stream(self._model.device))
        return torch.cuda.stream(self._stream)

    def _start(self, members: list[Finished]) -> None:
        began = time.perf_counter()
        try:
            inject_nan = faults.point("decode")
            with self._beside():
                audio = self.decoder.decode([f.behind_context(f.latents) for f in members])
                audio = [
                    samples[len(f.context) * self._model.patch_samples :]
                    for f, samples in zip(members, audio, strict=True)
                ]
                if inject_nan:
                    audio[0].fill_(torch.nan)
                # A sum is finite when all of its numbers are: samples lie between -1 and 1.
                finite = [samples.sum() + f.latents.sum() for f, samples in zip(members, audio, strict=True)]
                # The flags last: once they are here all of the group is.
                group = _Group(
                    members,
                    [Download(samples) for samples in audio],
                    [Download(f.latents) for f in members],
                    Download(torch.stack(finite).isfinite()),
                    began,
                )
        except Exception as error:
            check_device(self._model.device, error)
            if is_out_of_memory(error):
                self._clips = max(1, len(members) // 2)
                self._waiting = members + self._waiting
                self.no_room = in_one_line(error) if len(members) == 1 else None
            elif len(members) > 1:
                for finished in members:
                    self._start([finished])
            else:
                self._failed.append(Decoded(members[0], error=f"audio decode failed: {in_one_line(error)}"))
            return
        self._on_the_way.append(group)

    def _take(self, group: _Group) -> list[Decoded]:
        finite = group.finite.wait().tolist()
        seconds = (time.perf_counter() - group.began) / len(group.members)
        taken = []
        for finished, audio, latents, fine in zip(group.members, group.audio, group.latents, finite, strict=True):
            if fine:
                taken.append(Decoded(finished, audio.wait().numpy(), latents.wait(), seconds=seconds))
            else:
                taken.append(self._again(finished, seconds))
        return taken

    def _again(self, finished: Finished, seconds: float) -> Decoded:
        """What 16 bit had no room for may be fine in float32."""
        latents = finished.latents.cpu()
        if latents.isfinite().all() and self.decoder.fused is not None and not finished.cancelled:
            try:
                [audio] = self.decoder.decode([finished.behind_context(latents)], exact=True)
                samples = audio[len(finished.context) * self._model.patch_samples :].cpu()
            except Exception as error:
                check_device(self._model.device, error)
                return Decoded(finished, error=f"audio decode failed: {in_one_line(error)}")
            if samples.isfinite().all():
                return Decoded(finished, samples.numpy(), latents, seconds=seconds)
        return Decoded(finished, error="the model gave audio that is not finite")
