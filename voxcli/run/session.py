"""The life of a job: read its voices, run its segments through the engine, join the clips, write the file.

    utterance -> RunningJob -> requests -> clips -> file -> result

Requests are made when the engine asks for them. Separate threads write files, so that the disk does not block the
engine. An error in one job gives that job a failed result and does not affect the others.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Protocol

from voxcli import faults
from voxcli.audio.spoil import spoil
from voxcli.check.checker import Checker
from voxcli.engine.engine import Engine
from voxcli.engine.request import NOT_YET, Clip, NotYet, Request
from voxcli.errors import DeviceError, SynthesisError, VoxError, as_vox_error
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Outcome, Result, failure
from voxcli.run.finish import audio_of, result_of, write_file
from voxcli.run.profile import MODEL, StageTimer
from voxcli.run.running_job import EncodedVoices, RunningJob
from voxcli.voices.prefetch import VoicePrefetcher
from voxcli.voices.spoken import SpokenVoice

BACKLOG = 2**29  # bytes of audio waiting for the disk above which the engine waits
WRITERS = 4  # writer threads on a GPU, whose engine makes files faster than one core can write them
AHEAD = 8  # with a feed, one request per AHEAD rows is queued in the engine ahead of a free row


class Feed(Protocol):
    """A source of utterances that arrive while others are spoken."""

    def next(self) -> Utterance | None:
        """Return an utterance that is available now, or None."""

    def wait(self) -> bool:
        """Block until an utterance is available; False if the feed has ended."""


class Log(Protocol):
    """Receives results, one at a time, from writer threads after the file is written."""

    def append(self, result: Result, /) -> None: ...


@dataclass(frozen=True)
class Again:
    """A job whose check asks for some of its segments to be spoken again."""

    running: RunningJob
    segments: list[int]


KeepVoice = Callable[[str, SpokenVoice], None]  # called with a line's id


def drop_voice(identity: str, voice: SpokenVoice) -> None:
    pass


class Session:
    """Runs utterances on an engine, in the order given.

    out:      the output folder; paths in results are relative to it.
    log:      receives every result; None: results are not recorded.
    notify:   receives messages for people, one line each.
    timer:    records the time of each stage.
    feed:     a source of more utterances, read as late as possible, because waiting ones may be taken back from it.
              With a feed the session lasts until that has ended.
    voices:   already encoded voices; None: the session reads and encodes them.

    checker listens to complete jobs, which are spoken again until they pass. Set it before `run`; None: no check.
    keep_voice: receives the voices of utterances that give one, before their outcomes, from writer threads.
    """

    checker: Checker | None = None
    backlog = BACKLOG

    def __init__(
        self,
        engine: Engine,
        utterances: Iterable[Utterance],
        out: Path,
        *,
        log: Log | None,
        notify: Callable[[str], None],
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
            self._open(utterance)
        self._running: dict[str, tuple[RunningJob, int]] = {}
        # files to be written, with bytes of audio; a job that is to be spoken again takes the place of its outcome
        self._pending: deque[tuple[Future[Outcome | Again], int]] = deque()
        self._waiting = 0  # total bytes of audio in _pending
        self._noting = Lock()
        self._feed = feed
        jobs = [utterance.job for utterance in utterances]
        self._voices = voices or VoicePrefetcher(engine, jobs, encoder=str, notify=notify)

        self.keep_voice: KeepVoice = drop_voice

    def write(self, running: RunningJob) -> Result:
        """Write the file of a complete job and return its result; runs in a writer thread."""
        return write_file(running, self.out)

    def run(self) -> Generator[Outcome, None, None]:
        """Yield outcomes as files are written. Raises DeviceError when the device no longer works."""
        writers = 1 if self.engine.model.device.type == "cpu" else WRITERS
        if self.checker is not None:
            writers += self.checker.threads  # they wait for the recognizer
        pool = ThreadPoolExecutor(writers, thread_name_prefix="writer")
        with cleanup(), self._voices, pool as self._writer, interruptible():
            while True:
                # segments that depend on a first clip may become ready after a round has ended
                while self._ready or (self._feed is not None and not self._checking and self._feed.wait()):
                    with closing(self._clips()) as clips:  # leaving the run early cancels its requests
                        for clip in self.timer.each(MODEL, clips):
                            self._collect(clip)
                            yield from self._landed(self.backlog)
                yield from self._landed(0)
                if not self._ready and self._feed is None:
                    return
                if not self._ready and self._feed is not None and not self._feed.wait():
                    return

    # -- jobs to requests -------------------------------------------------------------------------------------
    def _open(self, utterance: Utterance) -> None:
        """Queue the segments of a job. Without a voice, all others wait for the first, which becomes their voice."""
        running = RunningJob.of(utterance)
        count = len(utterance.segments) if running.independent else 1
        self._ready.extend((running, index) for index in range(count))

    def _clips(self) -> Generator[Clip, None, None]:
        if self._feed is None:
            return self.engine.generate(self._requests())
        return self.engine.generate(self._requests(), ahead=self.engine.scheduler.max_running // AHEAD + 1)

    def _requests(self) -> Iterator[Request | NotYet]:
        while self._ready or self._feed is not None or self._checking:
            if not self._ready:
                utterance = self._feed.next() if self._feed is not None else None
                if utterance is None:
                    yield NOT_YET
                else:
                    self._open(utterance)
                continue
            running, index = self._ready.popleft()
            if running.error is not None:
                continue
            faults.point("line", running.job.text)
            try:
                with self.timer("texts and voices"):
                    request = running.request(index, self.engine.model, self._voices)
            except DeviceError:  # not this line's fault: it ends the session
                raise
            except Exception as error:
                self._give_up(running, as_vox_error(error))
                continue
            self._running[request.request_id] = running, index
            yield request

    # -- clips to files ---------------------------------------------------------------------------------------
    def _collect(self, clip: Clip) -> None:
        running, index = self._running.pop(clip.request_id)
        if running.error is not None:
            return
        if clip.audio is None:
            self._give_up(running, SynthesisError(clip.error or f"the engine returned no audio ({clip.stop_reason})"))
            return
        now = time.perf_counter()
        running.began = min(running.began, now - clip.timings.generate_s - clip.timings.decode_s)
        running.ended = now
        if (kind := faults.spoiled("clip", running.job.text)) is not None:
            clip = replace(clip, audio=spoil(clip.audio, clip.sample_rate, kind))
        running.add(index, clip)
        if running.complete:
            size = sum(clip.audio.nbytes for clip in running.clips.values() if clip.audio is not None)
            self._hand_over(self._writer.submit(self._finish, running), size)
        elif index == 0 and not running.independent:
            self._ready.extendleft((running, later) for later in reversed(range(1, len(running.utterance.segments))))

    def _give_up(self, running: RunningJob, error: VoxError) -> None:
        running.error = error
        running.clips.clear()
        for identity, (other, _) in self._running.items():
            if other is running:
                self.engine.cancel(identity)
        self._hand_over(self._writer.submit(self._fail, running.job, error), 0)

    def _hand_over(self, outcome: Future[Outcome | Again], size: int) -> None:
        self._pending.append((outcome, size))
        self._waiting += size

    def _landed(self, waiting: int) -> Iterator[Outcome]:
        """Yield outcomes whose files are written; blocks while more than `waiting` bytes of audio are unwritten."""
        while self._pending and (self._waiting > waiting or not waiting or self._pending[0][0].done()):
            with self.timer("waiting for files"):
                outcome, size = self._pending[0][0].result(), self._pending.popleft()[1]
            self._waiting -= size
            if isinstance(outcome, Again):
                self._ready.extendleft((outcome.running, index) for index in reversed(outcome.segments))
            else:
                yield outcome

    @property
    def _checking(self) -> bool:
        """Whether jobs are being checked that may have to be spoken again."""
        return self.checker is not None and bool(self._pending)

    def _finish(self, running: RunningJob) -> Outcome | Again:
        """Check, write and record a complete job; runs in a writer thread."""
        try:
            if running.utterance.gives_voice:
                self.keep_voice(running.job.id, running.spoken_voice())
                return self._note(Outcome(running.job, result_of(running, audio_of(running), "", None)))
            if self.checker is not None:
                with self.timer("check"):
                    if again := running.checked(self.checker):
                        return Again(running, again)
            with self.timer("files"):
                result = self.write(running)
        except Exception as error:
            return self._fail(running.job, as_vox_error(error), running.spoken_seed)
        return self._note(Outcome(running.job, result))

    def _fail(self, job: Job, error: VoxError, seed: int | None = None) -> Outcome:
        return self._note(failure(job, error, self.out, seed))

    def _note(self, outcome: Outcome) -> Outcome:
        if self.log is not None:
            with self.timer("results"), self._noting:
                self.log.append(outcome.result)
        return outcome
