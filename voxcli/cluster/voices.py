"""The voices of a run with many workers: the driver reads each one, one worker encodes it, all workers share it.

    source -> read (a thread) -> encoded (a worker) -> shared -> its lines may be handed out

A voice that can't be read or encoded fails every line that needs it, and no other line. A shared voice lives outside
the worker that made it and is dropped when its last line has finished.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from voxcli.errors import VoxError
from voxcli.jobs.plan import Utterance
from voxcli.terminal import counted
from voxcli.voices.source import EncodedVoice, ReadVoice, VoiceSource, read_source, sources_of

OPEN = 256  # voices of unfinished lines: more are read only when there is nothing else to speak
READERS = 2


class PendingVoice(NamedTuple):
    """A recording that is to be encoded. tries: workers that died while encoding it."""

    source: VoiceSource
    voice: ReadVoice
    tries: int = 0


class VoiceEvents(Protocol):
    def when(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Call `then` with the future once it is done, in the one thread that uses the voices."""

    def ready(self, utterances: list[Utterance]) -> None:
        """Queue utterances whose voices are now available."""

    def fail(self, utterance: Utterance, error: Exception) -> None:
        """Record that an utterance failed because its voice is unavailable."""


class WorkerVoices:
    """Reads the voices of a run and shares them among its workers. A context manager; call it from one thread.

    rate:     sample rate of the model's voice encoder in Hz.
    identity: returns the encoder's identity, which named voices must have been made with.
    share:    stores a voice where all workers can read it; the reference it returns is sent with the lines.
    events:   is called when a reader has finished, and for utterances that may run or have failed.
    notify:   receives messages for people.
    """

    def __init__(
        self,
        utterances: Iterable[Utterance] = (),
        *,
        rate: int,
        identity: Callable[[], str],
        share: Callable[[EncodedVoice], object],
        events: VoiceEvents,
        notify: Callable[[str], None],
    ):
        self.rate, self._identity = rate, identity
        self._share, self._events, self._notify = share, events, notify
        self._uses: Counter[VoiceSource] = Counter()
        self._upcoming: deque[VoiceSource] = deque()
        self._waiting: defaultdict[VoiceSource, list[Utterance]] = defaultdict(list)
        self._open: set[VoiceSource] = set()
        self._shared: dict[VoiceSource, object] = {}
        self._failed: dict[VoiceSource, Exception] = {}
        self._pending: deque[PendingVoice] = deque()
        self._notified: set[Path] = set()
        self.add(utterances)

    def add(self, utterances: Iterable[Utterance]) -> None:
        """Read the voices of more utterances. All others must have ended."""
        for utterance in utterances:
            for source in sources_of(utterance.job):
                if not self._uses[source]:
                    self._upcoming.append(source)
                    self._failed.pop(source, None)
                self._uses[source] += 1
                self._waiting[source].append(utterance)

    def __enter__(self) -> WorkerVoices:
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="voices")
        return self

    def __exit__(self, *exception: object) -> None:
        self._readers.shutdown(cancel_futures=True)

    def begin(self, *, idle: bool) -> None:
        """Start reading the next voices. idle: nothing else is left to speak."""
        while self._upcoming and (len(self._open) < OPEN or (idle and not self._on_the_way)):
            source = self._upcoming.popleft()
            self._open.add(source)
            self._events.when(self._readers.submit(self._read, source), partial(self._was_read, source))

    @property
    def _on_the_way(self) -> bool:
        return len(self._open) > len(self._shared)

    @property
    def pending(self) -> int:
        return len(self._pending)

    def to_encode(self) -> PendingVoice | None:
        """Return the next recording for a worker to encode. The caller must call `encoded` or `again` for it."""
        return self._pending.popleft() if self._pending else None

    def again(self, pending: PendingVoice, limit: int) -> None:
        """Queue a recording again whose worker died. After `limit` retries its lines fail."""
        tries = pending.tries + 1
        if tries > limit:
            path = pending.source.path
            self._settle(pending.source, VoxError(f"{path}: {counted(tries, 'worker')} died while encoding it"))
        else:
            self._pending.append(pending._replace(tries=tries))

    def encoded(self, source: VoiceSource, future: Future[EncodedVoice]) -> None:
        """Share an encoded voice and release its lines, or fail them with the future's exception."""
        self._settle(source, future.exception() or future.result())

    def of(self, utterance: Utterance) -> Iterator[tuple[VoiceSource, object]]:
        """Return the sources of an utterance's voices and the references to send with it."""
        return ((source, self._shared[source]) for source in sources_of(utterance.job))

    def ended(self, utterance: Utterance) -> None:
        """Record that an utterance has finished and drop voices that no other utterance needs."""
        for source in sources_of(utterance.job):
            self._uses[source] -= 1
            if not self._uses[source]:
                self._open.discard(source)
                self._shared.pop(source, None)

    def _read(self, source: VoiceSource) -> ReadVoice | EncodedVoice:
        """Runs in a thread."""
        return read_source(source, self.rate, lambda: self._encoder)

    @cached_property
    def _encoder(self) -> str:
        return self._identity()

    def _was_read(self, source: VoiceSource, future: Future[ReadVoice | EncodedVoice]) -> None:
        found = future.exception() or future.result()
        if isinstance(found, ReadVoice):
            self._pending.append(PendingVoice(source, found))
        else:
            self._settle(source, found)

    def _settle(self, source: VoiceSource, found: EncodedVoice | BaseException) -> None:
        if isinstance(found, EncodedVoice):
            self._shared[source] = self._share(found)
            if source.use != "named" and source.path not in self._notified and found.notes:
                self._notified.add(source.path)
                self._notify(f"{source.path}: {', '.join(found.notes)}")
        else:
            self._failed[source] = found if isinstance(found, Exception) else VoxError(str(found))
            self._open.discard(source)
        complete = []
        for utterance in self._waiting.pop(source):
            sources = list(sources_of(utterance.job))
            failed = [self._failed[each] for each in sources if each in self._failed]
            if isinstance(found, EncodedVoice) and all(each in self._shared for each in sources):
                complete.append(utterance)
            elif not isinstance(found, EncodedVoice) and len(failed) == 1:  # two voices: the first failure is reported
                self._events.fail(utterance, failed[0])
        if complete:
            self._events.ready(complete)
