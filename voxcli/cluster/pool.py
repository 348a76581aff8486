"""The driver's view of workers, wherever they live: the interface of a pool, and the record of one worker."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from voxcli.cluster.messages import WorkerReady
from voxcli.voices.source import EncodedVoice


class WorkerDied(Exception):
    """A worker is dead or unreachable; the message gives the reason."""


class WorkerHandle(Protocol):
    """A reference to one worker."""

    def ask(self, method: str, *values: object) -> Future[Any]:
        """Call a method of `voxcli.cluster.worker.Worker`. The future raises what the method raises, or WorkerDied."""

    def kill(self, ready: WorkerReady | None = None) -> None:
        """Kill the worker. ready: given for a worker that hangs and may not react to an ordinary request to end."""


class WorkerPool(Protocol):
    """Starts workers and shares values with them. size: number of workers."""

    size: int

    def start(self) -> WorkerHandle: ...
    def share(self, value: EncodedVoice) -> object:
        """Store a value where all workers can read it. Pass the returned reference to `ask` in its place."""


@dataclass(eq=False)
class WorkerRecord:
    """The driver's record of a worker. Times are of the monotonic clock.

    since:    when it was started.
    again:    it replaces a worker that died.
    ready:    its description; None until it has loaded.
    steps:    steps its engine had made at its last reply.
    moved:    when it last made a step or had nothing to do.
    encoding: voices it is encoding.
    polling:  a poll for results is under way.
    late:     it took too long to load, so its share of the lines is no longer reserved.
    stopped:  it has died or was stopped.
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
