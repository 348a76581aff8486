"""Decodes the latents of finished clips to audio, while other requests continue to run.

Clips are decoded in groups. On CUDA a group is decoded on a separate stream, copied to the CPU asynchronously and
collected later, so that no step waits for audio. On other devices groups are decoded immediately.
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
    """A finished sequence whose latents wait for the audio decode.

    latents: float32[patches, patch_size, feat_dim], on the device.
    """

    sequence: Sequence
    latents: torch.Tensor
    reason: StopReason
    cancelled: bool = False
    failed: bool = False  # its decode, alone, once

    @property
    def context(self) -> torch.Tensor:
        """The last patches of the prompt, decoded before a continuation; no patches for other clips."""
        prompt = self.sequence.request.prompt
        return prompt.patches[-CONTEXT_PATCHES:] if prompt.continues else prompt.patches[:0]

    def with_context(self, latents: torch.Tensor) -> torch.Tensor:
        """Return the latents with the context before them."""
        return torch.cat((self.context.to(latents.device), latents)) if len(self.context) else latents


@dataclass(frozen=True, eq=False)
class Decoded:
    """A finished clip with its audio and latents on the CPU, or with an error.

    audio:   float32[samples].
    seconds: the decode time of the group divided by its number of clips.
    """

    finished: Finished
    audio: np.ndarray | None = None
    latents: torch.Tensor | None = None
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class _Group:
    """Clips that are being decoded and copied to the CPU. finite: bool[clips], whether a clip's values are finite."""

    members: list[Finished]
    audio: list[Download]
    latents: list[Download]
    finite: Download
    began: float


class AudioStage:
    def __init__(self, model: VoxCPM2, clips: int):
        """clips: maximum number of clips in a group."""
        self.decoder = AudioDecoder(model, clips)
        self._model, self._clips = model, clips
        self._stream = torch.cuda.Stream(model.device) if model.device.type == "cuda" else None
        self._waiting: list[Finished] = []
        self._in_flight: deque[_Group] = deque()
        self._failed: list[Decoded] = []
        self.memory_error: str | None = None  # why the last `collect` left a clip waiting

    def _all(self) -> list[Finished]:
        in_flight = [finished for group in self._in_flight for finished in group.members]
        return [*self._waiting, *in_flight, *(decoded.finished for decoded in self._failed)]

    def __len__(self) -> int:
        return len(self._all())

    def add(self, finished: Finished) -> None:
        self._waiting.append(finished)

    def cancel(self, request_id: str) -> Sequence | None:
        """Drop a clip and return its sequence; None if no clip has this id."""
        for finished in self._all():
            if finished.sequence.request_id == request_id and not finished.cancelled:
                finished.cancelled = True
                return finished.sequence
        return None

    def collect(self, idle: bool) -> list[Decoded]:
        """Start the decode of full groups and return the clips that are ready.

        idle: no request is running, so also start groups that are not full, and wait for all of them.

        If memory runs out, groups become smaller. If it runs out for a single clip, this sets `memory_error` and the
        clip waits until the caller frees memory or calls `fail_waiting`.
        """
        self.memory_error = None
        self._waiting = [finished for finished in self._waiting if not finished.cancelled]
        while self._waiting and self.memory_error is None and (idle or len(self._waiting) >= self._clips):
            group, self._waiting = self._waiting[: self._clips], self._waiting[self._clips :]
            self._start(group)
        ready, self._failed = self._failed, []
        while self._in_flight and (idle or self._in_flight[0].finite.ready):
            ready += self._receive(self._in_flight.popleft())
        return [decoded for decoded in ready if not decoded.finished.cancelled]

    def fail_waiting(self) -> None:
        """Fail the clip for which memory ran out, with that error."""
        assert self.memory_error is not None
        self._failed.append(Decoded(self._waiting.pop(0), error=f"audio decode failed: {self.memory_error}"))

    def _side_stream(self) -> AbstractContextManager[None]:
        """Run the block on the side stream: after the steps queued so far, and concurrently with later ones."""
        if self._stream is None:
            return nullcontext()
        self._stream.wait_stream(torch.cuda.current_stream(self._model.device))
        return torch.cuda.stream(self._stream)

    def _start(self, members: list[Finished]) -> None:
        began = time.perf_counter()
        try:
            inject_nan = faults.point("decode")
            with self._side_stream():
                audio = self.decoder.decode([f.with_context(f.latents) for f in members])
                audio = [
                    samples[len(f.context) * self._model.patch_samples :]
                    for f, samples in zip(members, audio, strict=True)
                ]
                if inject_nan:
                    audio[0].fill_(torch.nan)
                # Samples are between -1 and 1, so a sum is finite if and only if all its values are.
                finite = [samples.sum() + f.latents.sum() for f, samples in zip(members, audio, strict=True)]
                # The flags are copied last: when they have arrived, the whole group has.
                group = _Group(
                    members,
                    [Download(samples) for samples in audio],
                    [Download(f.latents) for f in members],
                    Download(torch.stack(finite).isfinite()),
                    began,
                )
        except Exception as error:
            check_device(self._model.device, error)
            again = len(members) == 1 and members[0].failed  # an error that does not repeat costs no clip and no row
            members[0].failed = len(members) == 1
            if is_out_of_memory(error):
                self._clips = max(1, len(members) // 2)
                self._waiting = members + self._waiting
                self.memory_error = in_one_line(error) if again else None
            elif not again:
                for finished in members:
                    self._start([finished])
            else:
                self._failed.append(Decoded(members[0], error=f"audio decode failed: {in_one_line(error)}"))
            return
        self._in_flight.append(group)

    def _receive(self, group: _Group) -> list[Decoded]:
        finite = group.finite.wait().tolist()
        seconds = (time.perf_counter() - group.began) / len(group.members)
        clips = []
        for finished, audio, latents, fine in zip(group.members, group.audio, group.latents, finite, strict=True):
            if fine:
                clips.append(Decoded(finished, audio.wait().numpy(), latents.wait(), seconds=seconds))
            else:
                clips.append(self._decode_exactly(finished, seconds))
        return clips

    def _decode_exactly(self, finished: Finished, seconds: float) -> Decoded:
        """Decode a clip again in float32: values that overflow in 16 bits may be finite there."""
        latents = finished.latents.cpu()
        if latents.isfinite().all() and self.decoder.fused is not None and not finished.cancelled:
            try:
                [audio] = self.decoder.decode([finished.with_context(latents)], exact=True)
                samples = audio[len(finished.context) * self._model.patch_samples :].cpu()
            except Exception as error:
                check_device(self._model.device, error)
                return Decoded(finished, error=f"audio decode failed: {in_one_line(error)}")
            if samples.isfinite().all():
                return Decoded(finished, samples.numpy(), latents, seconds=seconds)
        return Decoded(finished, error="the model produced audio that is not finite")
