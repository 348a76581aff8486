"""Between the connections and the engine: admission, delivery of events, and the end of every request.

Runs in the event loop's thread. A request holds its place from admission until its answer was sent or its client left;
leaving the block ends it in the engine, however it is left.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

import numpy as np

from voxcli.audio.read import Recording
from voxcli.errors import VoxError
from voxcli.jobs.plan import Utterance
from voxcli.server.errors import ApiError, too_busy
from voxcli.server.messages import Done, EngineStatus, Event, Failed, Sound, Stopped, Task
from voxcli.server.metrics import Metrics
from voxcli.voices.store import Latents

MAX_AUDIO_S = 4 * 3600.0  # expected seconds of audio of all requests that are admitted
AT_ONCE = 1 << 17  # bytes of audio that are sent together where they have waited together
HOLD, RELEASE = 4 << 20, 1 << 20  # bytes of unsent audio at which a stream's next segment waits, and goes on


class Engines(Protocol):
    """One engine, or several. encoder_rate: in Hz, of recordings to encode."""

    @property
    def encoder_rate(self) -> int: ...
    def start(self) -> None: ...
    async def loaded(self) -> str:
        """Wait until requests can be spoken and return the name of the model. Raises VoxError when they never can."""

    def encode(self, recording: Recording, words: bool) -> Future[dict[str, Latents]]:
        """Encode a recording for a stored voice. words: they are known, so that it can be continued as well."""

    def stop(self) -> None: ...
    def submit(self, task: Task) -> None: ...
    def cancel(self, task_id: str) -> None: ...
    def hold(self, task_id: str, held: bool) -> None: ...
    def status(self) -> EngineStatus: ...


class Speech:
    """A request that was admitted. seed: of its noise, unless a bad attempt is repeated with the next one."""

    def __init__(self, task: Task, metrics: Metrics, hold: Callable[[bool], None]):
        self.task = task
        self.ended = False
        self._metrics = metrics
        self._hold = hold
        self._began = time.perf_counter()
        self._played: float | None = None  # when a player that began with the first audio has played what there is
        self._held = False
        self._unread = 0
        self._events: deque[Event] = deque()
        self._arrived = asyncio.Event()

    @property
    def seed(self) -> int:
        seeds = (self.task.utterance.job.settings.seed, self.task.utterance.seed)
        return next(seed for seed in seeds if seed is not None)

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()
        if isinstance(event, Sound):
            self._count(len(event.samples) / event.rate)
            self._unread += event.samples.nbytes
            if self._unread > HOLD and not self._held:
                self._held = True
                self._hold(True)
        else:
            self.ended = True
            if isinstance(event, Done) and event.result.duration_s:
                self._metrics.audio_s += event.result.duration_s
                self._metrics.rtf.observe((time.perf_counter() - self._began) / event.result.duration_s)

    def _count(self, seconds: float) -> None:
        """Count new audio for the metrics."""
        now = time.perf_counter()
        if self._played is None:
            self._metrics.first_audio.observe(now - self._began)
        elif now > self._played:
            self._metrics.underruns += 1
        self._played = max(self._played or now, now) + seconds

    async def next(self) -> Sound | Done:
        """The next event. Raises the error of a request that failed."""
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if isinstance(event, Sound):
            event = self._with_the_next(event)
            self._unread -= event.samples.nbytes
            if self._held and self._unread < RELEASE:
                self._held = False
                self._hold(False)
        if isinstance(event, Failed):
            raise event.error
        assert isinstance(event, Sound | Done), event
        return event

    def _with_the_next(self, sound: Sound) -> Sound:
        """Take the sounds that follow as well, as far as they make one send."""
        blocks, size = [sound.samples], sound.samples.nbytes
        while self._events and isinstance(following := self._events[0], Sound):
            size += following.samples.nbytes
            if size > AT_ONCE:
                break
            blocks.append(following.samples)
            self._events.popleft()
        return sound if len(blocks) == 1 else Sound(sound.id, np.concatenate(blocks), sound.rate)

    async def done(self) -> Done:
        """The end of a request that does not stream. Raises the error of one that failed."""
        event = await self.next()
        assert isinstance(event, Done), event
        return event


class Dispatcher:
    """max_queue: maximum number of requests beyond those that are being spoken."""

    def __init__(self, engines: Engines, metrics: Metrics, max_queue: int):
        self.engines = engines
        self.metrics = metrics
        self.draining = False
        self.stopped: VoxError | None = None  # why there is no engine any more
        self._max_queue = max_queue
        self._ids = itertools.count(1)
        self._open: dict[str, Speech] = {}
        self._audio_s = 0.0
        self._freed = asyncio.Event()
        self._seconds = 1.0  # a request takes, as a running mean

    @property
    def open(self) -> int:
        return len(self._open)

    @property
    def ready(self) -> bool:
        return not self.draining and self.stopped is None

    def deliver(self, events: Iterable[Event]) -> None:
        """Hand events of the engine to their requests."""
        for event in events:
            if isinstance(event, Stopped):
                self.stopped = event.error or VoxError("the engine has stopped")
            elif (speech := self._open.get(event.id)) is not None:
                speech.put(event)

    @asynccontextmanager
    async def speech(
        self, utterance: Utterance, format: str, *, stream: bool, wait: bool = False
    ) -> AsyncIterator[Speech]:
        """Speak an utterance in the block. wait: until there is a place; else raises ApiError 429 when there is none.

        Raises ApiError 503 when the server is stopping.
        """
        while wait and self.ready and self._is_full(utterance):
            self._freed.clear()
            await self._freed.wait()
        self.check(utterance)
        if utterance.job.settings.seed is None:
            utterance = replace(utterance, seed=secrets.randbits(31))
        task = Task(str(next(self._ids)), utterance, stream, format)
        speech = self._open[task.id] = Speech(task, self.metrics, lambda held: self.engines.hold(task.id, held))
        self._audio_s += utterance.expected_s
        began = time.perf_counter()
        try:
            self.engines.submit(task)
            yield speech
            self._seconds += 0.1 * (time.perf_counter() - began - self._seconds)
        finally:
            del self._open[task.id]
            self._audio_s -= utterance.expected_s
            self._freed.set()
            if not speech.ended:
                self.engines.cancel(task.id)
                self.metrics.cancelled += 1

    def check(self, utterance: Utterance | None = None) -> None:
        """Raise the ApiError of a request that can't be admitted now."""
        if self.stopped is not None:
            raise ApiError(503, f"the engine has ended: {self.stopped}", code="stopped")
        if self.draining:
            raise ApiError(503, "the server is stopping", code="stopping")
        if self._is_full(utterance):
            rows = self.engines.status().rows_total
            waiting = max(1, self.open - rows)
            raise too_busy(waiting, min(60.0, waiting * self._seconds / rows))

    def _is_full(self, utterance: Utterance | None) -> bool:
        limit = self._max_queue + self.engines.status().rows_total
        expected_s = utterance.expected_s if utterance is not None else 0.0
        return self.open >= limit or (bool(self._open) and self._audio_s + expected_s > MAX_AUDIO_S)

    async def drained(self) -> None:
        """Wait until no request is open."""
        while self._open:
            self._freed.clear()
            await self._freed.wait()
