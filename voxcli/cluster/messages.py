"""What the driver and its workers tell each other: plain values, pickled on their way. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

from voxcli.engine.load import ModelOptions
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result


@dataclass(frozen=True)
class WorkerConfig:
    """What a worker is to be.

    model:    how any machine knows it (`voxcli.model.hub.ResolvedModel.anywhere`), and the identity it must have there.
    options:  of the engine; the device is one that the worker alone has.
    folder:   of the output, as a whole path; `probe` is a file in it that says `nonce`: who reads that shares it.
    threads:  of torch on a CPU.
    watched:  somebody looks at how far the lines are.
    """

    model: str
    identity: str
    options: ModelOptions
    folder: str
    probe: str
    nonce: str
    threads: int
    watched: bool = False


@dataclass(frozen=True)
class WorkerReady:
    """What a worker is. rows: of its engine.  name: of the model."""

    host: str
    process: int
    rows: int
    patch_s: float
    name: str


@dataclass(frozen=True)
class WorkItem:
    """A line to speak. voices: which of those that come with it are its own, by place."""

    utterance: Utterance
    voices: tuple[int, ...] = ()


@dataclass(frozen=True)
class PollReply:
    """What has come of a worker's lines since it was last asked.

    rows:    that its engine has now.
    steps:   that it has made.
    patches: so far, of the requests that run; only where that is watched.
    remarks: for people.
    ended:   why it speaks no more; None while it does.
    """

    landed: tuple[FinishedResult, ...] = ()
    rows: int = 0
    steps: int = 0
    patches: dict[str, int] | None = None
    remarks: tuple[str, ...] = ()
    ended: str | None = None


@dataclass(frozen=True)
class FinishedResult:
    """A result and, where the one who asks can't see the file, its bytes."""

    result: Result
    content: bytes | None = None
