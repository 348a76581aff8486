"""The whole life of a job: its voices read once, its pieces through the engine, its clips joined, its file written.

    utterance -> requests -> clips -> one take -> file -> result

Requests are made as the engine asks for them. Files are written by threads of their own, so that the disk never
holds up the engine. Whatever happens to one job ends that job with a result and leaves the others alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Protocol

from voxcli import faults
from voxcli.audio.join import join
from voxcli.audio.levels import silence_at_end, to_level
from voxcli.audio.resample import resample
from voxcli.audio.write import write_audio
from voxcli.engine.engine import Engine
from voxcli.engine.request import NOT_YET, Clip, NotYet, Request
from voxcli.errors import DeviceError, SynthesisError, VoxError
from voxcli.files.read import content_digest
from voxcli.files.write import make_folder
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.cues import make_cues
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import CUT_OFF, Outcome, Result, failure, now, shown_path
from voxcli.run.profile import MODEL, StageTimer
from voxcli.run.running_job import EncodedVoices, RunningJob
from voxcli.voices.prefetch import VoicePrefetcher

LONG_SILENCE_S = 1.0  # at the end of a file: more is told
BACKLOG = 2**29  # bytes of audio that may wait for the disk before the engine does
WRITERS = 4  # threads beside an engine on a GPU, which makes files faster than one core writes them
AHEAD = 8  # of the rows, one in so many may wait with the engine for one that ends, when utterances come from a feed


class Feed(Protocol):
    """Utterances that come while others are spoken."""

    def next(self) -> Utterance | None:
        """One that is there now."""

    def wait(self) -> bool:
        """Blocks until one is there; False when none will come any more."""


class Log(Protocol):
    """Takes each result when its file is there, in a writer's thread, one at a time."""

    def append(self, result: Result, /) -> None: ...


class Session:
    """Runs utterances on an engine, in the order given.

    out:      the folder that results name files from.
    notify:   takes remarks for people, one line each.
    encoder:  gives the identity of the model's voice encoder, which named voices must have been made with.
    timer:    takes the time of each stage.
    feed:     more utterances, taken when those given are with the engine and no sooner: what still waits there may be
              taken back. The session then lasts until the feed has ended.
    voices:   where the voices are already known; None: they are read and encoded here.
    """

    def __init__(
        self,
        engine: Engine,
        utterances: Iterable[Utterance],
        out: Path,
        *,
        log: Log | None,
        notify: Callable[[str], None],
        encoder: Callable[[], str] = str,
        timer: StageTimer | None = None,
        feed: Feed | None = None,
        voices: EncodedVoices | None = None,
    ):
        utterances = list(utterances)
        self.engine = engine
        self.out = out
        self.log = log
        self.notify = notify
        self.timer = timer or StageTimer()
        self._ready: deque[tuple[RunningJob, int]] = deque()
        for utterance in utterances:
            self._open(RunningJob.of(utterance))
        self._running: dict[str, tuple[RunningJob, int]] = {}
        self._pending: deque[tuple[Future[Outcome], int]] = deque()  # with bytes of audio
        self._waiting = 0  # bytes of all of them
        self._noting = Lock()
        self._feed = feed
        self._voices = voices or VoicePrefetcher(
            engine, [utterance.job for utterance in utterances], encoder=encoder, notify=notify
        )

    def run(self) -> Iterator[Outcome]:
        """Outcomes as they land."""
        writers = 1 if self.engine.model.device.type == "cpu" else WRITERS
        pool = ThreadPoolExecutor(writers, thread_name_prefix="writer")
        with cleanup(), self._voices, pool as self._writer, interruptible():
            # pieces that wait for their first one may become ready after a round has ended
            while self._ready or (self._feed is not None and self._feed.wait()):
                for clip in self.timer.each(MODEL, self._clips()):
                    self._collect(clip)
                    yield from self._landed(BACKLOG)
            yield from self._landed(0)

    # -- jobs to requests -------------------------------------------------------------------------------------
    def _open(self, take: RunningJob) -> None:
        """A long text without a voice takes the voice of its first piece: the others wait for that."""
        alone = bool(take.job.voices) or len(take.utterance.segments) == 1
        self._ready.extend((take, index) for index in range(len(take.utterance.segments) if alone else 1))

    def _clips(self) -> Iterator[Clip]:
        if self._feed is None:
            return self.engine.generate(self._requests())
        return self.engine.generate(self._requests(), ahead=self.engine.scheduler.max_running // AHEAD + 1)

    def _requests(self) -> Iterator[Request | NotYet]:
        while self._ready or self._feed is not None:
            if not self._ready and self._feed is not None:
                if (utterance := self._feed.next()) is None:
                    yield NOT_YET
                else:
                    self._open(RunningJob.of(utterance))
                continue
            take, index = self._ready.popleft()
            if take.error is not None:
                continue
            faults.point("line", take.job.text)
            try:
                with self.timer("texts and voices"):
                    request = take.request(index, self.engine.model, self._voices)
            except DeviceError:  # no fault of this line
                raise
            except Exception as error:
                self._give_up(take, _as_told(error))
                continue
            self._running[request.request_id] = take, index
            yield request

    # -- clips to files ---------------------------------------------------------------------------------------
    def _collect(self, clip: Clip) -> None:
        take, index = self._running.pop(clip.request_id)
        if take.error is not None:
            return
        if clip.audio is None:
            self._give_up(take, SynthesisError(clip.error or f"the engine gave no audio ({clip.stop_reason})"))
            return
        now = time.perf_counter()
        take.began = min(take.began, now - clip.timings.generate_s - clip.timings.decode_s)
        take.ended = now
        take.add(index, clip)
        if take.complete:
            size = sum(clip.audio.nbytes for clip in take.clips.values() if clip.audio is not None)
            self._hand_over(self._writer.submit(self._finish, take), size)
        elif index == 0 and not take.job.voices:
            self._ready.extendleft((take, later) for later in reversed(range(1, len(take.utterance.segments))))

    def _give_up(self, take: RunningJob, error: VoxError) -> None:
        take.error = error
        take.clips.clear()
        for identity, (other, _) in self._running.items():
            if other is take:
                self.engine.cancel(identity)
        self._hand_over(self._writer.submit(self._fail, take.job, error), 0)

    def _hand_over(self, outcome: Future[Outcome], size: int) -> None:
        self._pending.append((outcome, size))
        self._waiting += size

    def _landed(self, waiting: int) -> Iterator[Outcome]:
        """Outcomes that are on the disk; waits for it only while more than `waiting` bytes of audio are not."""
        while self._pending and (self._waiting > waiting or not waiting or self._pending[0][0].done()):
            with self.timer("waiting for files"):
                outcome, size = self._pending[0][0].result(), self._pending.popleft()[1]
            self._waiting -= size
            yield outcome

    def _finish(self, take: RunningJob) -> Outcome:
        """Runs in a writer's thread."""
        try:
            with self.timer("files"):
                result = self._write(take)
        except Exception as error:
            return self._fail(take.job, _as_told(error), take.spoken_seed)
        return self._note(Outcome(take.job, result))

    def _write(self, take: RunningJob) -> Result:
        """Join the clips into the file."""
        job, segments = take.job, take.utterance.segments
        clips = [take.clips[index] for index in range(len(segments))]
        rate = clips[0].sample_rate
        parts = [clip.audio for clip in clips if clip.audio is not None]
        pauses, lead_s = [segment.pause_s for segment in segments], take.utterance.lead_s
        # a text of one piece stays as the model made it, sample by sample
        alone = len(parts) == 1 and not pauses[0] and not lead_s
        audio = parts[0] if alone else join(parts, pauses, rate, lead_s)
        limit = len(audio) if job.settings.max_seconds is None else round(job.settings.max_seconds * rate)
        stop_reason = "length" if len(audio) > limit else _worst(clips)
        audio = audio[:limit]
        cues = make_cues(segments, [len(part) for part in parts], rate, limit, lead_s)
        if job.settings.sample_rate is not None:
            audio, rate = resample(audio, rate, job.settings.sample_rate), job.settings.sample_rate
        if job.settings.level is not None:
            audio = to_level(audio, rate, job.settings.level)
        make_folder(job.out.parent)
        write_audio(job.out, audio, rate, format=job.format)
        duration, wall = len(audio) / rate, take.ended - take.began
        return Result(
            id=job.id,
            out=shown_path(job.out, self.out),
            text=job.text,
            status="ok",
            duration_s=round(duration, 4),
            wall_s=round(wall, 4),
            rtf=round(wall / duration, 4),
            patches=sum(clip.patches for clip in clips),
            stop_reason=stop_reason,
            seed=take.spoken_seed,
            attempts=max(clip.attempts for clip in clips),
            sample_rate=rate,
            description=take.utterance.description or None,
            voice_notes=take.voice.notes if take.voice else (),
            warnings=(*take.utterance.warnings, *_doubts(take, stop_reason, silence_at_end(audio, rate) - pauses[-1])),
            sha256=content_digest(job.out),
            exact=all(clip.exact for clip in clips),
            fingerprint=asdict(take.utterance.fingerprint) if take.utterance.fingerprint else None,
            finished=now(),
            cues=cues,
            extra=job.extra or None,
        )

    def _fail(self, job: Job, error: VoxError, seed: int | None = None) -> Outcome:
        return self._note(failure(job, error, self.out, seed))

    def _note(self, outcome: Outcome) -> Outcome:
        if self.log is not None:
            with self.timer("results"), self._noting:
                self.log.append(outcome.result)
        return outcome


def _worst(clips: Iterable[Clip]) -> str:
    """What ended a job of these clips: of several reasons the one that matters most."""
    reasons = {clip.stop_reason for clip in clips}
    return next(reason for reason in ("length", "silence", "stop") if reason in reasons)


def _doubts(take: RunningJob, stop_reason: str, silence_s: float) -> Iterator[str]:
    """What makes a file worth listening to before it is used."""
    if stop_reason == "length":
        yield CUT_OFF
    if take.silence_s:
        yield f"{take.silence_s:.1f} s of silence cut away: it did not end by itself"
    if bad := [clip.attempts for clip in take.clips.values() if clip.bad_case]:
        yield f"far too long for its text, also after {max(bad)} attempts"
    if silence_s > LONG_SILENCE_S:
        yield f"{silence_s:.1f} s of silence at its end"


def _as_told(error: Exception) -> VoxError:
    """What ends one job must not end the others, foreseen or not."""
    if isinstance(error, VoxError):
        return error
    return SynthesisError(f"unexpected {type(error).__name__}: {error}")
