"""Start the listening process and ask it: transcripts and speaker embeddings, beside the synthesis."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from voxcli.check.heard import Heard, HeardWord, Samples, Setup
from voxcli.errors import ModelError, SynthesisError

__all__ = ["COMMAND", "ListeningProcess"]

COMMAND: tuple[str, ...] = (sys.executable, "-m", "voxcli.check.serve")
END_S = 5.0  # how long it may take to end by itself
TRIES = 2  # a clip that ends the process twice is not heard


class _Ended(Exception):
    """The process ended before it answered."""


class ListeningProcess:
    """A process that hears clips; a context manager that can be entered again. Several threads may use it.

    setup:   what it loads.
    command: starts it.

    It is started on entry and loads meanwhile. If it dies, it is started again.
    """

    def __init__(self, setup: Setup, command: Sequence[str] | None = None):
        self.setup = setup
        self._command = tuple(command or COMMAND)
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._closed = False

    def __enter__(self) -> ListeningProcess:
        self._closed = False
        self._running = _Running(self._command, self.setup)
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._closed = True
            if self._running is not None:
                self._running.end()

    @property
    def multilingual(self) -> bool:
        """Whether its model knows other languages than English. Waits until it has loaded. Raises ModelError."""
        assert self._running is not None, "used outside of its `with` block"
        try:
            return bool(self._running.ready.result()["multilingual"])
        except _Ended as error:
            raise ModelError("the recognizer's process ended while it loaded") from error

    def hear(
        self, samples: Samples, *, language: str | None = None, hear: bool = True, embed: bool = False, about: str = ""
    ) -> Heard:
        """Hear float32[n] at RATE Hz; blocks until it is heard.

        hear, embed: whether to return words and an embedding.
        about:       what it is, for the injection of faults.

        Raises SynthesisError if the recognizer fails, ModelError if it can't be loaded.
        """
        request = {"language": language, "hear": hear, "embed": embed, "about": about, "samples": len(samples)}
        for _ in range(TRIES):
            running = self._alive()
            try:
                values = running.ask(request, samples).result()
            except _Ended:
                continue
            if error := values.get("error"):
                raise SynthesisError(f"the recognizer failed: {error}")
            embedding = values["embedding"]
            return Heard(
                tuple(HeardWord(*word) for word in values["words"]), None if embedding is None else tuple(embedding)
            )
        raise SynthesisError("the recognizer's process ended twice while it listened")

    def _alive(self) -> _Running:
        """Return the process, a new one if the last has ended. Raises ModelError if it can't be loaded."""
        with self._lock:
            assert self._running is not None, "used outside of its `with` block"
            if self._closed:
                raise SynthesisError("the recognizer was stopped")
            if self._running.ended:
                self._running.end()
                self._running = _Running(self._command, self.setup)
            return self._running


class _Running:
    """One run of the process. ready: its first reply."""

    def __init__(self, command: Sequence[str], setup: Setup):
        self.ready: Future[dict[str, Any]] = Future()
        self._asked: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._count = 0
        self.ended = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the terminal's Ctrl-C is not sent to it
        )
        threading.Thread(target=self._read, name="listening", daemon=True).start()
        self._write(json.dumps(asdict(setup)).encode() + b"\n")

    def ask(self, request: dict[str, Any], samples: Samples) -> Future[dict[str, Any]]:
        answer: Future[dict[str, Any]] = Future()
        self.ready.result()
        with self._lock:
            if self.ended:
                raise _Ended
            self._count += 1
            number = self._count
            self._asked[number] = answer
        self._write(
            json.dumps(request | {"id": number}).encode() + b"\n", np.ascontiguousarray(samples, np.float32).tobytes()
        )
        return answer

    def end(self) -> None:
        """End it; an answer that is still awaited never comes."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)

    def _write(self, *parts: bytes) -> None:
        assert self._process.stdin is not None
        with self._writing, suppress(OSError, ValueError):  # it has ended: the reader reports that
            for part in parts:
                self._process.stdin.write(part)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            values = json.loads(line)
            if not self.ready.done():
                if error := values.get("error"):
                    self.ready.set_exception(ModelError(f"the recognizer can't be loaded: {error}"))
                else:
                    self.ready.set_result(values)
                continue
            with self._lock:
                answer = self._asked.pop(values["id"])
            answer.set_result(values)
        with self._lock:
            self.ended = True
            left = list(self._asked.values())
            self._asked.clear()
        self._process.stdout.close()
        if not self.ready.done():
            self.ready.set_exception(_Ended())
        for answer in left:
            answer.set_exception(_Ended())
