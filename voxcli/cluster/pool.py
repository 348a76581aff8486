"""Workers as the driver of a run sees them, wherever they live: what a pool of them can do, and one of them."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from voxcli.cluster.messages import WorkerReady
from voxcli.voices.source import EncodedVoice


class WorkerDied(Exception):
    """A worker is dead or out of reach; says why."""


class WorkerHandle(Protocol):
    """One worker, from outside."""

    def ask(self, method: str, *values: object) -> Future[Any]:
        """Calls a method of `voxcli.cluster.worker.Worker`. The future raises what that raises, or Lost."""

    def kill(self, ready: WorkerReady | None = None) -> None:
        """ready: of one that hangs, and may not hear that it is to end."""


class WorkerPool(Protocol):
    """Where workers live. size: how many."""

    size: int

    def start(self) -> WorkerHandle: ...
    def share(self, value: EncodedVoice) -> object:
        """Puts a value where all workers find it: among the values of `ask`, what this returns stands for it."""


@dataclass(eq=False)
class WorkerRecord:
    """A worker of the pool.

    since:    when it was started, by the monotonic clock.  ready: once it has loaded.
    again:    it has taken the place of one that died.
    steps:    that its engine had made when it last answered.
    moved:    when it was last seen to have made one, or to have nothing to do, by the monotonic clock.
    encoding: voices it has been asked to encode.  polling: its next results have been asked for.
    late:     its share of the lines is not kept any longer.
    """

    name: str
    handle: WorkerHandle
    since: float
    again: bool = False
    ready: WorkerReady | None = None
    steps: int = 0
    moved: float = 0.0
    encoding: int = 0
    polling: bool = False
    late: bool = False
    stopped: bool = False

    def __str__(self) -> str:
        where = f" (process {self.ready.process} on {self.ready.host})" if self.ready is not None else ""
        return f"worker {self.name}{where}"
