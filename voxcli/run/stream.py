"""Stream one text to stdout while it is generated: the first patch is written before the second is made.

Audio that was played can't be taken back, so a clip far too long or short for its text is not retried, and the levels
of a long text's segments are not matched. Otherwise the audio is that of a file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import numpy as np
import soxr
from numpy.typing import NDArray

from voxcli.audio.join import FADE_S, faded, silence
from voxcli.audio.pcm import pcm16
from voxcli.audio.wavstream import WavStream
from voxcli.engine.engine import Engine
from voxcli.engine.stream import ClipStream
from voxcli.jobs.plan import Utterance
from voxcli.run.running_job import RunningJob
from voxcli.terminal import format_duration, stdout_failed
from voxcli.voices.prefetch import VoicePrefetcher

Samples = NDArray[np.float32]


class Stream:
    """The audio of an utterance; iterating yields float32 blocks at `rate` Hz. For `encoder`, `notify` see Session.

    Raises InputError when the model does not know the letters of the text.
    """

    def __init__(
        self,
        engine: Engine,
        utterance: Utterance,
        *,
        encoder: Callable[[], str] = str,
        notify: Callable[[str], None],
    ):
        self.engine = engine
        self.running = RunningJob.of(utterance)
        self._notify = notify
        self.running.look_at_letters(engine.model.tokenizer)
        for warning in self.running.unknown:
            notify(warning)
        self.cut_off = False
        self.rate: int = utterance.job.settings.sample_rate or engine.model.sample_rate
        self._voices = VoicePrefetcher(engine, [utterance.job], encoder=encoder, notify=notify)

    def __iter__(self) -> Generator[Samples, None, None]:
        native = self.engine.model.sample_rate
        if self.rate == native:
            yield from self._limited()
            return
        resampler = soxr.ResampleStream(native, self.rate, 1, dtype="float32", quality="VHQ")
        for block in self._limited():
            yield resampler.resample_chunk(block)
        yield resampler.resample_chunk(np.zeros(0, np.float32), last=True)

    def _limited(self) -> Iterator[Samples]:
        """Yield audio up to max_seconds."""
        longest = self.running.job.settings.max_seconds
        left = None if longest is None else round(longest * self.engine.model.sample_rate)
        for block in self._whole():
            if left is not None and len(block) > left:
                self.cut_off = True
                yield block[:left]
                return
            if left is not None:
                left -= len(block)
            yield block

    def _whole(self) -> Iterator[Samples]:
        segments, rate = self.running.utterance.segments, self.engine.model.sample_rate
        lead_s = self.running.utterance.lead_s
        alone = len(segments) == 1 and not segments[0].pause_s and not lead_s
        with self._voices:
            yield from silence(lead_s, rate)
            for index, segment in enumerate(segments):
                sound = self._segment(index)
                yield from sound if alone else faded(sound, round(FADE_S * rate))
                yield from silence(segment.pause_s, rate)

    def _segment(self, index: int) -> Iterator[Samples]:
        stream = ClipStream(self.engine, self.running.request(index, self.engine.model, self._voices))
        yield from stream
        assert stream.clip is not None, "a stream that has ended must have a clip"
        self.running.clips[index] = stream.clip
        self.cut_off = self.cut_off or stream.clip.stop_reason == "length"
        if stream.clip.too_short:
            self._notify("far too short for its text")


def write_stream(stream: Stream, sink: BinaryIO, *, raw: bool) -> str:
    """Write a stream as 16-bit WAV, or without the header if `raw`. Returns a one-line summary.

    Raises OutputError when the reader has closed the stream or it can't be written.
    """
    began = time.perf_counter()
    first = 0.0
    samples = 0
    try:
        with _writer(sink, stream.rate, raw=raw) as write:
            for block in stream:
                if not len(block):
                    continue
                write(pcm16(block).tobytes())
                first = first or time.perf_counter() - began
                samples += len(block)
    except OSError as error:
        raise stdout_failed(error, f" after {format_duration(samples / stream.rate)} of audio") from error
    kind = f"raw, 16 bit little endian, {stream.rate} Hz, mono" if raw else f"WAV, {stream.rate} Hz"
    return (
        f"stdout ({kind}): {'cut off at ' if stream.cut_off else ''}{format_duration(samples / stream.rate)} "
        f"of audio in {format_duration(time.perf_counter() - began)}, the first after {format_duration(first)}, "
        f"seed {stream.running.seed}"
    )


@contextmanager
def _writer(sink: BinaryIO, rate: int, *, raw: bool) -> Iterator[Callable[[bytes], object]]:
    """Writes samples on the way to whoever listens. A file that is not raw is one also when the sound is broken off."""
    if raw:

        def write(samples: bytes) -> None:
            sink.write(samples)
            sink.flush()

        yield write
        return
    file = WavStream(sink, rate)
    try:
        yield file.write
    except BaseException:
        with suppress(OSError):
            file.put_sizes()
        raise
    file.put_sizes()
