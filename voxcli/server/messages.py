"""Messages between the server's connections and an engine, in this process or another: plain values.

Task -> engine -> Sound, Sound, ... -> Done | Failed        and Stopped when the engine ends
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voxcli.errors import VoxError
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Result


@dataclass(frozen=True)
class Task:
    """One text to speak. `id` is unique within the server.

    stream: its audio is wanted while it is made; else `Done` has the finished file.
    format: of the file: a name in FORMATS, or RAW.
    """

    id: str
    utterance: Utterance
    stream: bool
    format: str


@dataclass(frozen=True, eq=False)
class Sound:
    """The next audio of a streaming task, float32[n] at `rate` Hz."""

    id: str
    samples: NDArray[np.float32]
    rate: int


@dataclass(frozen=True, eq=False)
class Done:
    """A task is complete. content: its file; None after a stream."""

    id: str
    result: Result
    content: bytes | None = None


@dataclass(frozen=True, eq=False)
class Failed:
    """A task could not be completed. Of a stream, some audio may have been handed out."""

    id: str
    error: VoxError


@dataclass(frozen=True, eq=False)
class Stopped:
    """The engine has ended and takes no more tasks."""

    error: VoxError | None


@dataclass(frozen=True)
class EngineStatus:
    """rows: requests being spoken, of rows_total.  pages: in use, of pages_total.  waiting: segments without a row."""

    rows: int
    rows_total: int
    pages: int
    pages_total: int
    waiting: int
    steps: int


Event = Sound | Done | Failed | Stopped
