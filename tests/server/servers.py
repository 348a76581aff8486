"""Servers in processes of their own, and what tests send them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openai import OpenAI

from tests import children

MODEL = "demo-voice"
SENTENCE = "The sun is rising."
LONG = "The wind came over the hill and went down to the sea. " * 6


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"]["message"])


@dataclass
class Served:
    """A running server.

    said:    its lines on stderr up to the greeting.
    clients: by their key; closed with the server, because a socket that is left to the garbage collector warns in
             whatever test runs then.
    """

    process: subprocess.Popen[str]
    url: str
    said: list[str]
    clients: dict[str, OpenAI] = field(default_factory=dict)

    def client(self, key: str = "none") -> OpenAI:
        if key not in self.clients:
            self.clients[key] = OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=120)
        return self.clients[key]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=120)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """body: sent as JSON unless it is bytes.  headers: with _ for -."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request(
                method, path, content, {name.replace("_", "-"): value for name, value in headers.items()}
            )
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def gauges(self) -> dict[str, float]:
        """The values of /metrics without labels."""
        lines = self.ask("GET", "/metrics").body.decode().splitlines()
        return {
            name: float(value) for name, value in (line.split() for line in lines if line[0] != "#") if "{" not in name
        }

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Signal it and wait for its end. Returns the exit code and the rest of stderr."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, rest = self.process.communicate(timeout=120)
        return self.process.returncode, rest


@contextmanager
def served(*options: str, folder: Path | None = None) -> Iterator[Served]:
    """Start `voxcpm2 serve` on a free port. folder: for its stored voices."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    if folder is not None:
        environment["XDG_DATA_HOME"] = str(folder)
    process = children.start(
        [*children.VOXCPM2, "serve", "--port", "0", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    running: Served | None = None
    try:
        said: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line.rstrip())
            if found := re.search(r"(http://\S+) serves ", line):
                yield (running := Served(process, found[1], said))
                break
        else:
            raise AssertionError(said)
    finally:
        for client in running.clients.values() if running is not None else ():
            client.close()
        process.terminate()  # a server that is killed leaves its temporary folder behind
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
