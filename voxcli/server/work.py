"""A task in the engine: which requests it makes, and what becomes of their clips. Runs in the engine's thread."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.encode import RAW
from voxcli.audio.pcm import pcm16
from voxcli.audio.write import encode_audio
from voxcli.engine.request import Clip, Request
from voxcli.errors import SynthesisError
from voxcli.jobs.job import Job
from voxcli.jobs.result import CUT_OFF, Result, now
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.run.finish import audio_of, result_of
from voxcli.run.running_job import RunningJob
from voxcli.run.stream import StreamJoiner
from voxcli.server.messages import Done, Event, Sound, Task
from voxcli.voices.source import EncodedVoice


class Work(ABC):
    """ready: segments whose requests can be made now.  in_engine: segments by the id of their request."""

    def __init__(self, task: Task, model: VoxCPM2):
        self.task = task
        self.model = model
        self.running = RunningJob.of(task.utterance)
        self.ready: deque[int] = deque()
        self.in_engine: dict[str, int] = {}

    @property
    def id(self) -> str:
        return self.task.id

    def begin(self, voice: EncodedVoice) -> None:
        """The voice is encoded: the first segments are ready."""
        self.running.voice = voice
        self._begin()

    def next_request(self) -> Request:
        """Make the request of the next ready segment. Raises InputError when the model can't speak the text."""
        index = self.ready.popleft()
        request = replace(
            self.running.request(index, self.model, _AlreadyEncoded()),
            request_id=f"{self.id}#{index}",
            on_audio=self._on_audio(),
        )
        self.in_engine[request.request_id] = index
        return request

    def collect(self, clip: Clip) -> None:
        """Take the clip of one of its requests. Raises SynthesisError when that failed."""
        index = self.in_engine.pop(clip.request_id)
        if clip.latents is None and not self.over:
            raise SynthesisError(clip.error or f"the engine returned no audio ({clip.stop_reason})")
        began = time.perf_counter() - clip.timings.generate_s - clip.timings.decode_s
        self.running.began = min(self.running.began, began)
        self.running.ended = time.perf_counter()
        self._collect(index, clip)

    @property
    def over(self) -> bool:
        """Its audio is complete, so that what is still in the engine is not needed."""
        return False

    @abstractmethod
    def cut_short(self) -> None:
        """Its requests were taken out of the engine because it is over."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """`finish` can be called."""

    @abstractmethod
    def finish(self) -> Done:
        """Make the last event of a complete work; runs in a writer thread."""

    @abstractmethod
    def _begin(self) -> None: ...
    @abstractmethod
    def _collect(self, index: int, clip: Clip) -> None: ...
    def _on_audio(self) -> Callable[[np.ndarray], None] | None:
        return None


class FileWork(Work):
    """Gives the bytes of the file that `voxcpm2 synth` would write."""

    @property
    def complete(self) -> bool:
        return self.running.complete

    def cut_short(self) -> None:
        raise AssertionError("a file is complete with its last segment")

    def _begin(self) -> None:
        segments = len(self.task.utterance.segments)
        # without a voice, all others wait for the first segment, which becomes their voice
        alone = bool(self.running.job.voices) or segments == 1
        self.ready.extend(range(segments if alone else 1))

    def _collect(self, index: int, clip: Clip) -> None:
        self.running.add(index, clip)
        if index == 0 and not self.running.job.voices:
            self.ready.extend(range(1, len(self.task.utterance.segments)))

    def finish(self) -> Done:
        audio = audio_of(self.running)
        if self.task.format == RAW:
            content = pcm16(audio.samples).tobytes()
        else:
            content = encode_audio(
                audio.samples, audio.rate, format=self.task.format, bitrate=self.running.job.settings.bitrate
            )
        return Done(self.id, result_of(self.running, audio, "", None), content)


class StreamWork(Work):
    """Hands out audio while it is made: one segment after another.

    held: its reader is slow, so that no further segment is begun. What the current one still gives is bounded.
    """

    def __init__(self, task: Task, model: VoxCPM2, emit: Callable[[Event], None]):
        super().__init__(task, model)
        self.held = False
        self._emit = emit
        self._joiner = StreamJoiner(task.utterance, model.sample_rate)
        self._samples = 0
        self._next = 0
        self._ended = False

    @property
    def complete(self) -> bool:
        return self._ended and not self.in_engine

    @property
    def over(self) -> bool:
        return self._ended or self._joiner.cut_off

    def cut_short(self) -> None:
        self._advance()

    def _begin(self) -> None:
        self._send(self._joiner.start())
        self._advance()

    def _advance(self) -> None:
        if self._next < len(self.task.utterance.segments) and not self.over:
            self.ready.append(self._next)
            self._next += 1
        elif not self._ended:
            self._send(self._joiner.end())
            self._ended = True

    def _on_audio(self) -> Callable[[np.ndarray], None]:
        return lambda block: self._send(self._joiner.add(block))

    def _collect(self, index: int, clip: Clip) -> None:
        self.running.clips[index] = clip
        self._send(self._joiner.end_segment())
        self._advance()

    def _send(self, blocks: Iterator[NDArray[np.float32]]) -> None:
        for block in blocks:
            if len(block):
                self._samples += len(block)
                self._emit(Sound(self.id, block, self._joiner.rate))

    def finish(self) -> Done:
        running, job = self.running, self.running.job
        clips = [clip for clip in running.clips.values() if clip.latents is not None]
        seconds = self._samples / self._joiner.rate
        cut_off = self._joiner.cut_off or any(clip.stop_reason == "length" for clip in clips)
        short = ("far too short for its text",) if any(clip.too_short for clip in clips) else ()
        warnings = (*running.utterance.warnings, *running.unknown, *short, *((CUT_OFF,) if cut_off else ()))
        return Done(self.id, _stream_result(running, job, seconds, self._joiner.rate, warnings, cut_off))


def _stream_result(
    running: RunningJob, job: Job, seconds: float, rate: int, warnings: tuple[str, ...], cut_off: bool
) -> Result:
    wall = max(0.0, running.ended - running.began)
    return Result(
        id=job.id,
        out="",
        text=job.text,
        status="ok",
        duration_s=round(seconds, 4),
        wall_s=round(wall, 4),
        rtf=round(wall / seconds, 4) if seconds else None,
        patches=sum(clip.patches for clip in running.clips.values()),
        stop_reason="length" if cut_off else "stop",
        seed=running.seed,
        attempts=1,
        sample_rate=rate,
        description=running.utterance.description or None,
        voice_notes=running.voice.notes if running.voice else (),
        warnings=warnings,
        exact=all(clip.exact for clip in running.clips.values()),
        finished=now(),
    )


class _AlreadyEncoded:
    """Stands for the voices of a work whose voice is there."""

    def __enter__(self) -> _AlreadyEncoded:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def of(self, job: Job) -> EncodedVoice:
        raise AssertionError("the voice of a work is set before its first request")
