"""One engine in a process of its own: what a server with several engines calls. Does not depend on Ray.

    submit -> EngineThread -> events -> take (a long poll)

Torch is imported only in `load`, after the number of threads is set in the environment.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxcli.audio.read import Recording
from voxcli.engine.load import ModelOptions, load_engine, random_engine
from voxcli.jobs.settings import Settings
from voxcli.server.messages import EngineStatus, Event, Task
from voxcli.voices.store import Latents

if TYPE_CHECKING:
    from voxcli.server.engine_thread import EngineThread


@dataclass(frozen=True)
class ServeWorkerConfig:
    """How to start a worker. threads: torch threads on a CPU.  settings, random_weights: see `ServeOptions`."""

    options: ModelOptions
    settings: Settings
    threads: int
    random_weights: str | None = None


@dataclass(frozen=True)
class Loaded:
    """A worker has loaded. name: of its model, for people.  encoder_rate: in Hz, of recordings to encode."""

    name: str
    encoder_rate: int
    process: int


@dataclass(frozen=True, eq=False)
class Taken:
    """Events since the last poll, in their order."""

    events: tuple[Event, ...]
    status: EngineStatus


class ServeWorker:
    def __init__(self, config: ServeWorkerConfig):
        self._config = config
        self._events: list[Event] = []
        self._arrived = threading.Condition()

    def load(self) -> Loaded:
        """Load the model and start the engine's thread; takes seconds. Raises ModelError."""
        os.environ["OMP_NUM_THREADS"] = str(self._config.threads)
        os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # see `voxcli.cli.main`
        from voxcli.server.engine_thread import EngineThread
        from voxcli.server.warm_up import warm_up

        options, random_weights = self._config.options, self._config.random_weights
        if random_weights is not None:
            loaded = random_engine(random_weights, options, _ignore)
        else:
            loaded = load_engine(options, _ignore)
        warm_up(loaded.engine, self._config.settings)
        self._thread: EngineThread = EngineThread(loaded, self._emit)
        self._thread.start()
        return Loaded(loaded.name, loaded.engine.model.encoder_rate, os.getpid())

    def submit(self, task: Task) -> None:
        self._thread.submit(task)

    def cancel(self, task_id: str) -> None:
        self._thread.cancel(task_id)

    def hold(self, task_id: str, held: bool) -> None:
        self._thread.hold(task_id, held)

    def take(self, wait_s: float) -> Taken:
        """Wait for events, at most `wait_s` seconds, and return all there are."""
        with self._arrived:
            if not self._events:
                self._arrived.wait(wait_s)
            events, self._events = self._events, []
        return Taken(tuple(events), self._thread.status())

    def encode(self, recording: Recording, words: bool) -> dict[str, Latents]:
        answer: Future[dict[str, Latents]] = self._thread.encode(recording, words)
        return answer.result()

    def _emit(self, events: list[Event]) -> None:
        with self._arrived:
            self._events += events
            self._arrived.notify()


def _ignore(remark: str) -> None:
    """The server itself has said it, or will."""
