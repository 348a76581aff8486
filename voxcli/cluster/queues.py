"""Queues between a worker's session thread and the calls from outside: lines go in, results come out."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from voxcli.cluster.messages import FinishedResult
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result
from voxcli.voices.spoken import SpokenVoice


class WorkQueue:
    """The feed of a session: utterances that have not begun, which may be taken back."""

    def __init__(self) -> None:
        self._waiting: deque[Utterance] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, utterances: Sequence[Utterance]) -> None:
        with self._changed:
            self._waiting.extend(utterances)
            self._changed.notify_all()

    def send(self, call: Callable[[], None]) -> None:
        """Run a function in the session's thread before the next line begins. It must not raise."""
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()

    def next(self) -> Utterance | None:
        while self._calls:
            self._calls.popleft()()
        with self._changed:
            return self._waiting.popleft() if self._waiting else None

    def wait(self) -> bool:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._calls or self._closed)
                if not self._calls:
                    return bool(self._waiting)
            self._calls.popleft()()

    def give_back(self, count: int) -> list[str]:
        """Remove at most `count` utterances, the last ones first, and return their keys."""
        with self._changed:
            return [self._waiting.pop().job.key for _ in range(min(count, len(self._waiting)))]

    def close(self) -> None:
        """Drop all waiting utterances and end the feed."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()


class ResultQueue:
    """Results waiting for the next poll. A session uses it as its results log.

    limit:   bytes of files held; `append` blocks while that is exceeded.
    content: reads and removes a result's file and returns its bytes; None if files stay in place.
    """

    def __init__(self, limit: int, content: Callable[[Result], bytes] | None = None):
        self.limit = limit
        self._content = content
        self._landed: deque[FinishedResult] = deque()
        self._voices: dict[str, SpokenVoice] = {}
        self._held = 0
        self._changed = threading.Condition()
        self._open = True  # False: nobody waits any more

    def keep_voice(self, identity: str, voice: SpokenVoice) -> None:
        """Send a voice with the result of its line, which follows."""
        self._voices[identity] = voice.cut()

    def append(self, result: Result) -> None:
        content = self._content(result) if self._content is not None and result.ok and result.out else None
        landed = FinishedResult(result, content, self._voices.pop(result.id, None))
        with self._changed:
            self._changed.wait_for(lambda: self._held < self.limit or not self._open)
            self._landed.append(landed)
            self._held += len(landed.content or b"")
            self._changed.notify_all()

    def take(self, wait_s: float, linger_s: float, limit: int) -> list[FinishedResult]:
        """Wait up to wait_s for a result, then up to linger_s for more. Returns at most `limit` bytes of files.

        The first result is returned even if it alone exceeds the limit.
        """
        with self._changed:
            if self._changed.wait_for(lambda: self._landed or not self._open, wait_s) and self._open:
                self._changed.wait_for(lambda: self._held >= limit or not self._open, linger_s)
            taken: list[FinishedResult] = []
            size = 0
            while self._landed and (not taken or size + len(self._landed[0].content or b"") <= limit):
                landed = self._landed.popleft()
                size += len(landed.content or b"")
                taken.append(landed)
            self._held -= size
            self._changed.notify_all()
            return taken

    def wake(self) -> None:
        """Release everybody who waits here: the session has ended or is about to end."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
