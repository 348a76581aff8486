"""Audio of requests that stream: the new patches of all of them, decoded in one stateful call a step.

Each stream has its own context of the decoder's convolutions (`StreamContexts`), so patches decoded one after another
join to the audio of the whole. On CUDA the decode runs beside the next step and its result is read one step late, as
the flags are. On a CPU streams are decoded one by one: nothing is gained there by more at once, and so the last bits of
a stream do not depend on the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from collections.abc import Sequence as Seq
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from voxcli.engine.decode import CONTEXT_PATCHES
from voxcli.engine.request import StopReason
from voxcli.engine.sequence import Sequence
from voxcli.engine.transfer import Download, check_device, upload
from voxcli.errors import in_one_line
from voxcli.model.vaeconv import State
from voxcli.model.voxcpm2 import VoxCPM2

FIRST_ROWS = 4  # streams that there is room for at first; doubled whenever there are more


class StreamContexts:
    """The decoder's context of many streams: for each convolution one tensor, float32[rows, channels, samples]."""

    def __init__(self) -> None:
        self.rows = FIRST_ROWS
        self._free = list(range(FIRST_ROWS))
        self._pools: dict[int, torch.Tensor] = {}

    def acquire(self) -> int:
        """Take a row, which begins with silence."""
        if not self._free:
            self._free = list(range(self.rows, 2 * self.rows))
            self._pools = {conv: torch.cat((pool, torch.zeros_like(pool))) for conv, pool in self._pools.items()}
            self.rows *= 2
        row = self._free.pop()
        for pool in self._pools.values():
            pool[row].zero_()
        return row

    def release(self, row: int) -> None:
        self._free.append(row)

    @property
    def used(self) -> int:
        return self.rows - len(self._free)

    def of(self, rows: torch.Tensor) -> RowContexts:
        """The contexts of some rows, int64[n] on the device, as a state of the decoder."""
        return RowContexts(self, rows)

    def read(self, conv: int, rows: torch.Tensor) -> torch.Tensor | None:
        return self._pools[conv][rows] if conv in self._pools else None

    def write(self, conv: int, rows: torch.Tensor, value: torch.Tensor) -> None:
        if conv not in self._pools:
            self._pools[conv] = value.new_zeros(self.rows, *value.shape[1:])
        self._pools[conv][rows] = value


class RowContexts(State):
    """Read from the pools; written back by `commit` only, so that a call that fails leaves them as they were."""

    def __init__(self, contexts: StreamContexts, rows: torch.Tensor):
        super().__init__()
        self._contexts, self._rows = contexts, rows

    def get(self, conv: int, default: Any = None) -> Any:
        return self._contexts.read(conv, self._rows)

    def commit(self) -> None:
        for conv, value in self.items():
            self._contexts.write(conv, self._rows, value)


@dataclass(eq=False)
class Stream:
    """A stream.

    sent:       patches that were queued for decoding.
    on_the_way: blocks whose audio is not there yet.
    ended:      why its request ended, and its latents; its last blocks may still be on their way.
    """

    sequence: Sequence
    row: int
    sent: int = 0
    on_the_way: int = 0
    ended: tuple[StopReason, Download] | None = None
    closed: bool = False


@dataclass(frozen=True, eq=False)
class Ended:
    """A request whose last block was handed out, with its latents on the CPU, or that failed."""

    sequence: Sequence
    reason: StopReason = "error"
    latents: torch.Tensor | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class _Group:
    """Blocks on their way to the CPU. finite: for each stream, whether its patches and its audio are."""

    streams: list[Stream]
    patches: torch.Tensor  # held while another CUDA stream reads it
    audio: Download
    finite: Download


class StreamStage:
    """The streams of an engine. together: all streams are decoded in one call."""

    def __init__(self, model: VoxCPM2):
        self.model = model
        self.contexts = StreamContexts()
        self.together = model.device.type == "cuda"
        self._open: dict[str, Stream] = {}
        self._on_the_way: deque[_Group] = deque()
        self._failed: list[Ended] = []
        self._cuda_stream = torch.cuda.Stream(model.device) if model.device.type == "cuda" else None

    def __len__(self) -> int:
        """Streams whose last blocks are on their way."""
        return sum(stream.ended is not None for stream in self._open.values())

    def step(self, running: Seq[Sequence], latents: Callable[[Seq[Sequence], Seq[int]], Seq[torch.Tensor]]) -> None:
        """Queue the decode of the new patches of running requests that stream. latents: see `Engine._latents`."""
        streams = [self._of(s) for s in running if s.request.on_audio is not None and s.patches]
        new = latents([stream.sequence for stream in streams], [stream.sent for stream in streams])
        groups: dict[int, list[tuple[Stream, torch.Tensor]]] = {}
        for stream, patches in zip(streams, new, strict=True):
            if len(patches):
                groups.setdefault(len(patches), []).append((stream, patches))
                stream.sent += len(patches)
        before = len(self._on_the_way)
        for group in groups.values():
            at_once = len(group) if self.together else 1
            for start in range(0, len(group), at_once):
                part = group[start : start + at_once]
                self._start([stream for stream, _ in part], torch.stack([patches for _, patches in part]))
        # Blocks of this step are read after the next one, which is queued before the CPU waits for them.
        self._hand_out(keep=len(self._on_the_way) - before)

    def finish(self, sequence: Sequence, reason: StopReason, latents: torch.Tensor) -> None:
        """The request has all of its patches. latents: float32[patches, patch_size, feat_dim] on the device."""
        self._of(sequence).ended = reason, Download(latents)

    def close(self, request_id: str) -> Sequence | None:
        """Forget a stream; blocks on their way are dropped. Returns its sequence if there is one of that id."""
        stream = self._open.pop(request_id, None)
        if stream is None:
            return None
        stream.closed = True
        self.contexts.release(stream.row)
        return stream.sequence

    def ended(self) -> list[Ended]:
        """Take the requests that have ended, or failed, since the last call."""
        done = [stream for stream in self._open.values() if stream.ended is not None and not stream.on_the_way]
        failed, self._failed = self._failed, []
        for stream in done:
            assert stream.ended is not None
            failed.append(Ended(stream.sequence, stream.ended[0], stream.ended[1].wait()))
            self.close(stream.sequence.request_id)
        return failed

    def _of(self, sequence: Sequence) -> Stream:
        """The stream of a request, opened when it is first asked for."""
        stream = self._open.get(sequence.request_id)
        if stream is None:
            with self._beside():
                stream = self._open[sequence.request_id] = Stream(sequence, self.contexts.acquire())
                prompt = sequence.request.prompt
                if prompt.continues:  # its audio is not heard
                    self._decoded([stream], prompt.patches[None, -CONTEXT_PATCHES:].to(self.model.device))
        return stream

    def _start(self, streams: list[Stream], patches: torch.Tensor) -> None:
        try:
            with self._beside():
                audio = self._decoded(streams, patches)
                finite = torch.stack((patches.flatten(1).sum(1).isfinite(), audio.sum(1).isfinite()), 1)
                group = _Group(streams, patches, Download(audio), Download(finite))
        except Exception as error:
            check_device(self.model.device, error)
            if len(streams) > 1:
                for index, stream in enumerate(streams):
                    self._start([stream], patches[index : index + 1])
            else:
                self._fail(streams[0], f"audio decode failed: {in_one_line(error)}")
            return
        for stream in streams:
            stream.on_the_way += 1
        self._on_the_way.append(group)

    def _decoded(self, streams: list[Stream], patches: torch.Tensor) -> torch.Tensor:
        """patches: float32[streams, n, patch_size, feat_dim]; audio: float32[streams, n * patch_samples]."""
        state = self.contexts.of(upload(torch.tensor([stream.row for stream in streams]), self.model.device))
        audio = self.model.audio_vae.decode(patches.flatten(1, 2), state)
        state.commit()
        return audio

    def _hand_out(self, keep: int) -> None:
        """Hand out blocks, in order. All but the newest `keep` groups are waited for."""
        while self._on_the_way and (len(self._on_the_way) > keep or self._on_the_way[0].finite.ready):
            group = self._on_the_way.popleft()
            finite, audio = group.finite.wait().tolist(), group.audio.wait().numpy()
            for stream, (patches, sound), samples in zip(group.streams, finite, audio, strict=True):
                stream.on_the_way -= 1
                if stream.closed:
                    continue
                if sound:
                    assert stream.sequence.request.on_audio is not None
                    # A copy: a view would keep the audio of the whole group in memory.
                    stream.sequence.request.on_audio(samples.copy() if len(group.streams) > 1 else samples)
                elif patches:  # else the step's own flag ends the request
                    self._fail(stream, "the model produced audio that is not finite")

    def _fail(self, stream: Stream, error: str) -> None:
        self._failed.append(Ended(stream.sequence, error=error))
        self.close(stream.sequence.request_id)

    def _beside(self) -> AbstractContextManager[Any]:
        """What runs inside is queued behind the steps queued so far, and holds none of the later ones up."""
        if self._cuda_stream is None:
            return nullcontext()
        self._cuda_stream.wait_stream(torch.cuda.current_stream(self.model.device))
        return torch.cuda.stream(self._cuda_stream)
