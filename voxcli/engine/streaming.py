"""Audio of requests that stream, decoded while they are generated. The samples equal those of decoding the whole clip.

On CUDA the new patches of all streams are decoded in one call of the fused decoder, beside the next step; the result is
read one step late, as the flags are. That decoder has no state: each call begins as many patches earlier as reach the
new samples, and the samples of those are cut off. They are a smaller part of a larger piece, so a stream that is well
ahead of its listener gets several patches at once. On other devices each stream has a decoder state of its own, and
its patches are decoded one by one: nothing is gained there by more at once, and so no bit depends on other streams.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from collections.abc import Sequence as Seq
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from voxcli.engine.decode import CONTEXT_PATCHES, MAX_CALL_BYTES, AudioDecoder
from voxcli.engine.request import StopReason
from voxcli.engine.sequence import Sequence
from voxcli.engine.transfer import Download, check_device
from voxcli.errors import in_one_line
from voxcli.model.vaeconv import State, parts
from voxcli.model.voxcpm2 import VoxCPM2

PIECES = ((4, 1), (8, 2))  # (patches decoded before, patches of the next piece): latency counts at first
LARGE_PIECE = 4  # patches of a piece after those

Latents = Callable[[Seq[Sequence], Seq[int]], Seq[torch.Tensor]]  # see `Engine._latents`


@dataclass(eq=False)
class Stream:
    """A stream.

    sent:       patches that were queued for decoding.
    on_the_way: pieces whose audio is not there yet.
    state:      of the decoder, where it has one.
    rest:       all patches of a finished request, some of which are to be decoded.
    ended:      why its request ended, and its latents; its last pieces may still be on their way.
    """

    sequence: Sequence
    sent: int = 0
    on_the_way: int = 0
    state: State = field(default_factory=dict)
    rest: torch.Tensor | None = None
    ended: tuple[StopReason, Download] | None = None
    closed: bool = False


@dataclass(frozen=True, eq=False)
class Ended:
    """A request whose last audio was handed out, with its latents on the CPU, or that failed."""

    sequence: Sequence
    reason: StopReason = "error"
    latents: torch.Tensor | None = None
    error: str | None = None


@dataclass(frozen=True, eq=False)
class _Piece:
    """Patches of a stream to decode, float32[n, patch_size, feat_dim] on the device; the audio of the first `cut` is
    not wanted.
    """

    stream: Stream
    patches: torch.Tensor
    cut: int


@dataclass(frozen=True, eq=False)
class _Group:
    """Pieces whose audio is on its way to the CPU, one after the other. finite: of each, whether its patches are."""

    pieces: list[_Piece]
    lengths: list[int]
    audio: Download
    finite: Download


class StreamStage:
    """The streams of an engine. Their audio goes to `Request.on_audio`."""

    def __init__(self, model: VoxCPM2, decoder: AudioDecoder):
        self.model = model
        self.decoder = decoder
        self._reach = math.ceil(
            context_frames(model) / model.config.patch_size
        )  # patches before a sample that reach it
        self._open: dict[str, Stream] = {}
        self._on_the_way: deque[_Group] = deque()
        self._failed: list[Ended] = []
        self._cuda_stream = torch.cuda.Stream(model.device) if model.device.type == "cuda" else None

    def __len__(self) -> int:
        """Streams of finished requests."""
        return sum(stream.ended is not None for stream in self._open.values())

    @property
    def open(self) -> int:
        return len(self._open)

    def step(self, running: Seq[Sequence], latents: Latents) -> None:
        """Queue the decode of new patches, and hand out the audio of those queued before."""
        before = len(self._on_the_way)
        pieces = [self._piece(stream, stream.rest, 0) for stream in self._open.values() if stream.rest is not None]
        due = [stream for stream in map(self._of, filter(_streams, running)) if self._is_due(stream)]
        first = [self._first(stream) for stream in due]
        for stream, patches, start in zip(due, latents([s.sequence for s in due], first), first, strict=True):
            pieces.append(self._piece(stream, patches, start))
        for group in self._groups(pieces):
            self._start(group)
        # Audio of this step is read after the next one, which is queued before the CPU waits for it.
        self._hand_out(keep=len(self._on_the_way) - before)

    def finish(self, sequence: Sequence, reason: StopReason, latents: torch.Tensor) -> None:
        """The request has all of its patches. latents: float32[patches, patch_size, feat_dim] on the device."""
        stream = self._of(sequence)
        stream.ended = reason, Download(latents)
        if stream.sent < len(latents):
            stream.rest = latents

    def close(self, request_id: str) -> Sequence | None:
        """Forget a stream; audio on its way is dropped. Returns its sequence if there is one of that id."""
        stream = self._open.pop(request_id, None)
        if stream is None:
            return None
        stream.closed = True
        return stream.sequence

    def ended(self) -> list[Ended]:
        """Take the requests that have ended, or failed, since the last call."""
        ended, self._failed = self._failed, []
        for stream in list(self._open.values()):
            if stream.ended is not None and not stream.on_the_way and stream.rest is None:
                ended.append(Ended(stream.sequence, stream.ended[0], stream.ended[1].wait()))
                self.close(stream.sequence.request_id)
        return ended

    # -- pieces -----------------------------------------------------------------------------------------------------
    def _of(self, sequence: Sequence) -> Stream:
        return self._open.setdefault(sequence.request_id, Stream(sequence))

    def _is_due(self, stream: Stream) -> bool:
        wanted = next((size for before, size in PIECES if stream.sent < before), LARGE_PIECE)
        return stream.sequence.patches - stream.sent >= (wanted if self.decoder.fused is not None else 1)

    def _first(self, stream: Stream) -> int:
        """The first patch that a call needs: one that reaches the new ones, without a state."""
        return max(0, stream.sent - self._reach) if self.decoder.fused is not None else stream.sent

    def _piece(self, stream: Stream, patches: torch.Tensor, start: int) -> _Piece:
        """patches: of the stream from index `start` on, with all new ones."""
        first, end = self._first(stream), start + len(patches)
        patches, cut = patches[first - start :], stream.sent - first
        prompt = stream.sequence.request.prompt
        if prompt.continues and first == 0:  # the audio of the prompt's end is not heard
            before = prompt.patches[-CONTEXT_PATCHES:].to(patches.device)
            patches, cut = torch.cat((before, patches)), cut + len(before)
        stream.sent, stream.rest = end, None
        return _Piece(stream, patches, cut)

    def _groups(self, pieces: list[_Piece]) -> list[list[_Piece]]:
        """What is decoded in one call each: all of them, as far as memory allows, or one by one."""
        at_once = 1
        if self.decoder.fused is not None and pieces:
            frames = max(len(piece.patches) for piece in pieces) * self.model.config.patch_size
            at_once = max(1, MAX_CALL_BYTES // (frames * self.decoder.fused.bytes_per_frame))
        return [pieces[start : start + at_once] for start in range(0, len(pieces), at_once)]

    # -- audio ------------------------------------------------------------------------------------------------------
    def _start(self, pieces: list[_Piece]) -> None:
        samples = self.model.patch_samples
        try:
            with self._beside():
                padded = pad_sequence([piece.patches for piece in pieces], batch_first=True)
                audio = self._decoded(pieces, padded.flatten(1, 2))
                wanted = [
                    row[piece.cut * samples : len(piece.patches) * samples]
                    for piece, row in zip(pieces, audio, strict=True)
                ]
                finite = Download(padded.flatten(1).sum(1).isfinite())
                group = _Group(pieces, [len(part) for part in wanted], Download(torch.cat(wanted)), finite)
        except Exception as error:
            check_device(self.model.device, error)
            if len(pieces) > 1:
                for piece in pieces:
                    self._start([piece])
            else:
                self._fail(pieces[0].stream, f"audio decode failed: {in_one_line(error)}")
            return
        for piece in pieces:
            piece.stream.on_the_way += 1
        self._on_the_way.append(group)

    def _decoded(self, pieces: list[_Piece], frames: torch.Tensor) -> torch.Tensor:
        """frames: float32[pieces, frames, feat_dim]; audio: float32[pieces, samples]."""
        if self.decoder.fused is not None:
            return self.decoder.fused(frames)
        return self.model.audio_vae.decode(frames.to(self.model.device), pieces[0].stream.state)

    def _hand_out(self, keep: int) -> None:
        """Hand out audio, in order. All but the newest `keep` groups are waited for."""
        while self._on_the_way and (len(self._on_the_way) > keep or self._on_the_way[0].finite.ready):
            group = self._on_the_way.popleft()
            finite, audio = group.finite.wait().tolist(), group.audio.wait().split(group.lengths)
            for piece, fine, samples in zip(group.pieces, finite, audio, strict=True):
                piece.stream.on_the_way -= 1
                if not piece.stream.closed and fine:  # else the step's own flag ends the request
                    self._hear(piece, samples)

    def _hear(self, piece: _Piece, samples: torch.Tensor) -> None:
        if not samples.isfinite().all() and self.decoder.fused is not None:
            # 16 bit may have overflowed; float32 does not
            [whole] = self.decoder.decode([piece.patches], exact=True)
            samples = whole[piece.cut * self.model.patch_samples :].cpu()
        if samples.isfinite().all():
            on_audio = piece.stream.sequence.request.on_audio
            assert on_audio is not None, "only requests that stream are here"
            try:
                on_audio(samples.clone().numpy())  # a view would keep the audio of the whole group in memory
            except Exception as error:  # the caller's: it ends its own request
                self._fail(piece.stream, f"its audio could not be used: {in_one_line(error)}")
        else:
            self._fail(piece.stream, "the model produced audio that is not finite")

    def _fail(self, stream: Stream, error: str) -> None:
        self._failed.append(Ended(stream.sequence, error=error))
        self.close(stream.sequence.request_id)

    def _beside(self) -> AbstractContextManager[Any]:
        """What runs inside is queued behind the steps queued so far, and holds none of the later ones up."""
        if self._cuda_stream is None:
            return nullcontext()
        self._cuda_stream.wait_stream(torch.cuda.current_stream(self.model.device))
        return torch.cuda.stream(self._cuda_stream)


def context_frames(model: VoxCPM2) -> int:
    """The number of latent frames before a sample's own that reach it through the audio decoder."""
    decoder = model.audio_vae.decoder
    *_, last = parts(decoder.model)
    reach = last.context  # in samples of the output
    for block in reversed(parts(decoder.model[decoder.first : decoder.first + decoder.blocks])):
        _, up, *units = parts(block.block)
        reach = math.ceil((reach + sum(unit.block[1].context for unit in units)) / up.stride) + 1
    return reach + sum(conv.context for conv in parts(decoder.model[: decoder.first]))


def _streams(sequence: Sequence) -> bool:
    return sequence.request.on_audio is not None and sequence.patches > 0
