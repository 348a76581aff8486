"""Where the engines of a server are: in this process, or in workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from voxcli.cluster.placement import Placement
from voxcli.engine.load import LoadedEngine, ModelOptions, load_engine, random_engine
from voxcli.errors import InputError
from voxcli.interrupts import interruptible
from voxcli.jobs.settings import Settings
from voxcli.model.hub import resolve_model
from voxcli.server.dispatcher import Engines
from voxcli.server.messages import Event
from voxcli.server.worker import ServeWorker, ServeWorkerConfig
from voxcli.server.workers import Pool, WorkerEngines

CallSoon = Callable[[Callable[[], None]], None]  # runs a function in the event loop, from any thread
Deliver = Callable[[list[Event]], None]
Notify = Callable[[str], None]


class Backend(Protocol):
    def engines(self, call_soon: CallSoon, deliver: Deliver) -> Engines:
        """The engines, which deliver their events in the event loop."""

    def encoder(self) -> str:
        """The identity of the model's voice encoder; takes time. Raises InputError when it has none."""


@dataclass(frozen=True)
class LocalBackend:
    """One engine in this process."""

    loaded: LoadedEngine

    @classmethod
    def load(
        cls, options: ModelOptions, settings: Settings, random_weights: str | None, notify: Notify
    ) -> LocalBackend:
        from voxcli.server.warm_up import warm_up

        with interruptible():
            if random_weights is not None:
                loaded = random_engine(random_weights, options, notify)
            else:
                loaded = load_engine(options, notify)
            warm_up(loaded.engine, settings)
        return cls(loaded)

    def engines(self, call_soon: CallSoon, deliver: Deliver) -> Engines:
        from voxcli.server.engine_thread import EngineThread

        return EngineThread(self.loaded, lambda events: call_soon(partial(deliver, events)))

    def encoder(self) -> str:
        return _identity(self.loaded.folder)


@dataclass(frozen=True)
class WorkerBackend:
    """Engines in worker processes on this machine, through Ray. folder: of their model."""

    pool: Pool
    folder: Path
    notify: Notify

    @classmethod
    @contextmanager
    def open(
        cls, count: int | None, options: ModelOptions, settings: Settings, random_weights: str | None, notify: Notify
    ) -> Iterator[WorkerBackend]:
        """count: number of workers; None: as many as fit. Raises VoxError when they can't be started."""
        from voxcli.cluster.ray_pool import local_pool

        folder = Path() if random_weights is not None else resolve_model(options.model, notify).folder

        def config(placement: Placement) -> ServeWorkerConfig:
            there = replace(options, device=placement.device)
            return ServeWorkerConfig(there, settings, placement.threads, random_weights)

        with local_pool(count, options.device, ServeWorker, config) as (pool, placement):
            notify(str(placement))
            yield cls(pool, folder, notify)

    def engines(self, call_soon: CallSoon, deliver: Deliver) -> Engines:
        return WorkerEngines(self.pool, call_soon, deliver, self.notify)

    def encoder(self) -> str:
        return _identity(self.folder)


def _identity(folder: Path) -> str:
    if folder == Path():
        raise InputError("a model with random weights has no voices")
    from voxcli.model.weights import encoder_identity

    return encoder_identity(folder)
