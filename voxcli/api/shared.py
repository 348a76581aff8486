"""One engine for all calls of a program, one call at a time.

An engine is not safe for use by several threads, and clips of one call must not end up in another. So a call has the
engine for itself: other threads wait. A batch or stream has it from its first item until it ends or is closed, and
another call of the same thread meanwhile is an error, because it would wait forever.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.load import LoadedEngine
from voxcli.errors import InputError, VoxError
from voxcli.model.voxcpm2 import VoxCPM2

Made = TypeVar("Made", bound=Generator[Any, None, None])

OPEN = "a batch or stream of this model is still open in this thread: read it to its end, or close() it, first"
CLOSED = "this model was closed: load it again"


class _Parts(NamedTuple):
    """What an engine is made of: see `LoadedEngine`."""

    model: VoxCPM2
    config: EngineConfig
    name: str
    folder: Path


class SharedEngine:
    """A loaded engine. notify: receives messages for people."""

    def __init__(self, loaded: LoadedEngine, notify: Callable[[str], None]):
        self._parts: _Parts | None = _Parts(loaded.engine.model, loaded.engine.config, loaded.name, loaded.folder)
        self._loaded: LoadedEngine | None = loaded
        self._notify = notify
        self._lock = Lock()
        self._thread: int | None = None  # the thread that has the engine
        self._encoder: str | None = None
        self._open: WeakSet[Generator[Any, None, None]] = WeakSet()

    @contextmanager
    def use(self) -> Iterator[LoadedEngine]:
        """Have the engine for the `with` block; waits for other threads.

        Raises InputError when this thread has it already, or after `close`.
        """
        if self._thread == get_ident():
            raise InputError(OPEN)
        with self._lock:
            self._thread = get_ident()
            try:
                yield self._ready()
            except (GeneratorExit, VoxError):  # the rows and pages of the call have been released
                raise
            except BaseException:  # perhaps in the middle of a step
                self._loaded = None
                raise
            finally:
                self._thread = None

    def resumed(self) -> None:
        """To be called in a `use` block after each yield: the next item may be asked for by another thread."""
        self._thread = get_ident()

    def opened(self, generator: Made) -> Made:
        """Return a generator with a `use` block; `close` closes it."""
        self._open.add(generator)
        return generator

    def encoder(self) -> str:
        """Return the identity of the voice encoder; its weights are read once. To be called in a `use` block."""
        if self._encoder is None:
            self._encoder = self._ready().encoder()
        return self._encoder

    def close(self) -> None:
        """Free the memory of the model. Closes this thread's open batch or stream; waits for other threads."""
        if self._thread == get_ident():
            for generator in list(self._open):
                generator.close()
        with self._lock:
            if self._parts is None:
                return
            device = self._parts.model.device.type
            self._parts = self._loaded = None
        _collect(device)

    def _ready(self) -> LoadedEngine:
        """Return the engine; after an interrupted call, a new one with the same weights."""
        if self._parts is None:
            raise InputError(CLOSED)
        if self._loaded is None:
            model, config, name, folder = self._parts
            _collect(model.device.type)
            self._loaded = LoadedEngine(Engine(model, config, self._notify), name, folder)
        return self._loaded


def _collect(device: str) -> None:
    """Give freed memory back to the system."""
    gc.collect()
    if device == "cuda":
        import torch

        torch.cuda.empty_cache()
