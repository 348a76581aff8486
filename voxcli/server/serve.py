"""Run the server: load the model, listen, and end on a signal.

SIGTERM or SIGINT: nothing new is accepted, requests that were admitted end, then the server ends. A second signal, at
least one second later, ends it at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from voxcli.engine.load import ModelOptions
from voxcli.errors import InputError
from voxcli.interrupts import ENDED, SAME_S, check, cleanup, leave
from voxcli.jobs.settings import Settings
from voxcli.jobs.speaker import Speaker, speaker_of
from voxcli.server.app import Endpoints, Model, build_app
from voxcli.server.backends import Backend, LocalBackend, WorkerBackend
from voxcli.server.dispatcher import Dispatcher, Engines
from voxcli.server.guard import LOOPBACK, Access
from voxcli.server.messages import Event
from voxcli.server.metrics import Metrics
from voxcli.server.planning import Planner
from voxcli.server.voices import VoiceEndpoints
from voxcli.terminal import counted

BACKLOG = 1024  # connections that the system accepts before the server does
KEEP_ALIVE_S = 75
SWITCH_S = 0.001  # the engine's thread and the connections' take turns; Python's usual 5 ms are a third of a step


@dataclass(frozen=True)
class ServeOptions:
    """How to serve.

    settings:       of requests that do not set them.
    random_weights: the size of a model without weights.
    workers:        number of engines in processes of their own; 0: as many as fit; None: one engine in this process.
    """

    model: ModelOptions
    settings: Settings
    host: str
    port: int
    api_key: str | None
    max_queue: int
    random_weights: str | None = None
    workers: int | None = None


def serve(options: ServeOptions, notify: Callable[[str], None]) -> None:
    """Serve until a signal ends it. Raises VoxError when it can't start, or the device no longer works."""
    if options.api_key == "":
        raise InputError("the key is empty: --api-key or VOXCPM2_API_KEY must have at least one character")
    with cleanup(), _listening(options) as listener, _scratch() as folder, _backend(options, notify) as backend:
        check()  # a signal that came while Ray was started
        logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it reports each bad form on stderr
        sys.setswitchinterval(SWITCH_S)
        asyncio.run(_Server(options, backend, folder, notify).run(listener))


class _Server:
    def __init__(self, options: ServeOptions, backend: Backend, folder: Path, notify: Callable[[str], None]):
        self._options, self._backend, self._folder, self._notify = options, backend, folder, notify
        self._signalled_at: float | None = None
        self._uvicorn: _Uvicorn | None = None

    async def run(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()

        def call_soon(call: Callable[[], None]) -> None:  # from any thread
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(call)

        engines = self._backend.engines(call_soon, self._deliver)
        self._dispatcher = Dispatcher(engines, Metrics(), self._options.max_queue)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        engines.start()
        name = await engines.loaded()
        self._uvicorn = _uvicorn(self._app(engines, name))
        shown = f"http://{_shown(self._options.host)}:{listener.getsockname()[1]}"
        if self._options.host not in LOOPBACK and self._options.api_key is None:
            self._notify(f"anybody who can reach {shown} can use this server; --api-key sets a key")
        self._notify(f"{shown} serves {name}")
        await self._uvicorn.serve(sockets=[listener])
        engines.stop()
        if self._dispatcher.stopped is not None:
            raise self._dispatcher.stopped
        self._notify("stopped")

    def _app(self, engines: Engines, name: str) -> ASGIApp:
        options = self._options
        planner = Planner(options.settings, _speaker(options), self._folder)
        endpoints = Endpoints(Model(_model_id(options, name), name, int(time.time())), planner, self._dispatcher)
        voices = VoiceEndpoints(engines, cache(self._backend.encoder), self._folder, endpoints.plan)
        return build_app(endpoints, voices, Access.of(options.host, options.api_key), self._notify)

    def _deliver(self, events: list[Event]) -> None:
        self._dispatcher.deliver(events)
        if self._dispatcher.stopped is not None:
            self._end()

    def _end(self) -> None:
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

    def _on_signal(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._signalled_at is None and self._uvicorn is not None:
            self._signalled_at = now
            self._dispatcher.draining = True
            if self._dispatcher.open:
                self._notify(
                    f"stopping after {counted(self._dispatcher.open, 'request')}; a second signal ends at once"
                )
            self._draining = asyncio.ensure_future(self._drain())
        elif self._signalled_at is None or now - self._signalled_at > SAME_S:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._notify(ENDED[128 + number])
            leave(128 + number)

    async def _drain(self) -> None:
        await self._dispatcher.drained()
        self._end()


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are handled here, not by uvicorn, which ends requests."""
        yield


def _uvicorn(app: ASGIApp) -> _Uvicorn:
    return _Uvicorn(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
    )


@contextmanager
def _listening(options: ServeOptions) -> Iterator[socket.socket]:
    """Listen before the model is loaded, so that a port that is taken is reported at once."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        reason = os.strerror(number) if number > 0 else error  # asyncio and sockets add words of their own
        raise InputError(
            f"can't listen on {options.host}, port {options.port} ({reason}); choose another --port"
        ) from None
    with listener:
        yield listener


@contextmanager
def _backend(options: ServeOptions, notify: Callable[[str], None]) -> Iterator[Backend]:
    if options.workers is None:
        yield LocalBackend.load(options.model, options.settings, options.random_weights, notify)
        return
    count = options.workers or None
    with WorkerBackend.open(count, options.model, options.settings, options.random_weights, notify) as backend:
        yield backend


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for recordings that requests bring, which only this user may read."""
    folder = Path(tempfile.mkdtemp(prefix="voxcpm2-serve-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _speaker(options: ServeOptions) -> Speaker:
    return speaker_of(options.model.model)


def _model_id(options: ServeOptions, name: str) -> str:
    """A short name for requests: a hub id, or the name of the folder."""
    if options.random_weights is not None:
        return options.random_weights
    name = name.partition(" on ")[0]
    return re.sub(r"[^\w./-]+", "-", name if not os.path.isdir(name) else Path(name).name).strip("-") or "voxcpm2"


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
