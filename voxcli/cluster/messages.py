"""Messages between the driver and its workers: plain values that are pickled. Torch is not imported here."""

from __future__ import annotations

from dataclasses import dataclass

from voxcli.check.options import CheckOptions
from voxcli.engine.load import ModelOptions
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result
from voxcli.voices.spoken import SpokenVoice


@dataclass(frozen=True)
class WorkerConfig:
    """How to start a worker.

    model:    name or path that every machine understands (`voxcli.model.hub.ResolvedModel.portable_name`).
    identity: identity that the model must have on the worker's machine.
    options:  engine options; no other worker uses the device.
    folder:   absolute path of the output folder.
    probe:    name of a file in it that contains `nonce`: a worker that reads the nonce shares the folder.
    threads:  torch threads on a CPU.
    watched:  a progress display is running, so replies report patches.
    check:    how files are checked; None: they are not.
    """

    model: str
    identity: str
    options: ModelOptions
    folder: str
    probe: str
    nonce: str
    threads: int
    watched: bool = False
    check: CheckOptions | None = None


@dataclass(frozen=True)
class WorkerReady:
    """A worker has loaded. host, process: where it runs.  rows: rows of its engine.  name: the model's name."""

    host: str
    process: int
    rows: int
    patch_s: float
    name: str


@dataclass(frozen=True)
class WorkItem:
    """A line to speak. voices: indices of its voices among the voices sent with the same call."""

    utterance: Utterance
    voices: tuple[int, ...] = ()


@dataclass(frozen=True)
class PollReply:
    """A worker's answer to a poll.

    landed:  results finished since the last poll.
    rows:    rows its engine has now.
    steps:   steps its engine has made in total.
    patches: patches so far of each running request; None unless the run is watched.
    remarks: messages for people.
    ended:   why its session has ended; None while it runs.
    """

    landed: tuple[FinishedResult, ...] = ()
    rows: int = 0
    steps: int = 0
    patches: dict[str, int] | None = None
    remarks: tuple[str, ...] = ()
    ended: str | None = None


@dataclass(frozen=True)
class FinishedResult:
    """A result.

    content: the bytes of its file if the driver does not share the folder, else None.
    voice:   of a line that gives one.
    """

    result: Result
    content: bytes | None = None
    voice: SpokenVoice | None = None
