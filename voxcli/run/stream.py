"""Stream one text to stdout while it is generated: the first patch is written before the second is made.

Audio that was played can't be taken back, so a clip far too long or short for its text is not retried, and the levels
of a long text's segments are not matched. Otherwise the audio is that of a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

import numpy as np
import soxr
from numpy.typing import NDArray

from voxcli.audio.join import FADE_S, Fader, silence
from voxcli.engine.engine import Engine
from voxcli.engine.stream import ClipStream
from voxcli.jobs.plan import Utterance
from voxcli.run.running_job import RunningJob
from voxcli.voices.prefetch import VoicePrefetcher

Samples = NDArray[np.float32]


class StreamJoiner:
    """Joins the audio of an utterance's segments, which arrives in blocks: pauses, fades, sample rate, length limit.

    native: sample rate of the blocks in Hz.  rate: of the joined audio.  cut_off: it was cut off at max_seconds.

    Its methods yield float32 blocks at `rate`.
    """

    def __init__(self, utterance: Utterance, native: int):
        settings, segments = utterance.job.settings, utterance.segments
        self.rate: int = settings.sample_rate or native
        self.cut_off = False
        self._native = native
        self._lead_s = utterance.lead_s
        self._pauses = deque(segment.pause_s for segment in segments)
        # a single clip stays exactly as the model made it
        self._alone = len(segments) == 1 and not segments[0].pause_s and not utterance.lead_s
        self._fader = Fader(round(FADE_S * native))
        self._left = None if settings.max_seconds is None else round(settings.max_seconds * native)
        self._resampler = None
        if self.rate != native:
            self._resampler = soxr.ResampleStream(native, self.rate, 1, dtype="float32", quality="VHQ")

    def start(self) -> Iterator[Samples]:
        """Silence before the first segment."""
        for block in silence(self._lead_s, self._native):
            yield from self._limited(block)

    def add(self, block: Samples) -> Iterator[Samples]:
        """The next block of the current segment, float32[n]."""
        yield from self._limited(block if self._alone else self._fader.add(block))

    def end_segment(self) -> Iterator[Samples]:
        """The rest of a segment whose blocks have all been added, and the pause after it."""
        if not self._alone:
            yield from self._limited(self._fader.end())
            self._fader = Fader(round(FADE_S * self._native))
        for block in silence(self._pauses.popleft(), self._native):
            yield from self._limited(block)

    def end(self) -> Iterator[Samples]:
        """The rest of the audio."""
        if self._resampler is not None:
            yield self._resampler.resample_chunk(np.zeros(0, np.float32), last=True)

    def _limited(self, block: Samples) -> Iterator[Samples]:
        if self.cut_off:
            return
        if self._left is not None:
            self.cut_off = len(block) > self._left
            block = block[: self._left]
            self._left -= len(block)
        yield block if self._resampler is None else self._resampler.resample_chunk(block)


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
        self._joiner = StreamJoiner(utterance, engine.model.sample_rate)
        self.rate = self._joiner.rate
        self._voices = VoicePrefetcher(engine, [utterance.job], encoder=encoder, notify=notify)

    @property
    def seed(self) -> int:
        return self.running.seed

    def __iter__(self) -> Generator[Samples, None, None]:
        joiner = self._joiner
        with self._voices:
            yield from joiner.start()
            for index in range(len(self.running.utterance.segments)):
                if not joiner.cut_off:
                    yield from self._segment(index)
        yield from joiner.end()
        self.cut_off = self.cut_off or joiner.cut_off

    def _segment(self, index: int) -> Iterator[Samples]:
        stream = ClipStream(self.engine, self.running.request(index, self.engine.model, self._voices))
        with closing(iter(stream)) as chunks:  # leaving it early cancels its request
            for chunk in chunks:
                yield from self._joiner.add(chunk)
                if self._joiner.cut_off:
                    return
        assert stream.clip is not None, "a stream that has ended must have a clip"
        self.running.clips[index] = stream.clip
        self.cut_off = self.cut_off or stream.clip.stop_reason == "length"
        if stream.clip.too_short:
            self._notify("far too short for its text")
        yield from self._joiner.end_segment()
