"""The measurement of a server, against one that answers as it is told."""

from __future__ import annotations

import asyncio
import io
import json
import math
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from rich.console import Console

from voxcli.cli.main import run
from voxcli.diagnostics import load as load_module
from voxcli.diagnostics.httpstream import Target, send
from voxcli.diagnostics.load import measure_load, percentile
from voxcli.errors import InputError, SynthesisError

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: audio/pcm;rate=1000;channels=1\r\ntransfer-encoding: chunked\r\n\r\n"
MODELS = b'{"data": [{"name": "a model"}]}'
Answers = Callable[[dict[str, object]], bytes]


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def second(body: dict[str, object]) -> bytes:
    """A second of sound at 1,000 Hz, in two chunks."""
    return HEAD + chunk(bytes(1200)) + chunk(bytes(800)) + b"0\r\n\r\n"


@contextmanager
def answering(speech: Answers) -> Iterator[Target]:
    """A server in threads; `speech` makes the answer to the body of a request for speech."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head, length = self.rfile.readline(), 0
            while (line := self.rfile.readline().lower()) != b"\r\n":
                length = int(line.split()[1]) if line.startswith(b"content-length") else length
            body = self.rfile.read(length)
            self.wfile.write(whole(MODELS) if head.startswith(b"GET") else speech(json.loads(body)))

    class Server(socketserver.ThreadingTCPServer):
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Target("127.0.0.1", server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_module, "WARM_UP_S", 0.0)


def test_streams_are_counted_with_their_audio() -> None:
    bodies: list[dict[str, object]] = []

    def speech(body: dict[str, object]) -> bytes:
        bodies.append(body)
        return second(body)

    with answering(speech) as target:
        report = measure_load(target, [50.0], [2], 0.5, on_row=lambda load: None)
    opened, closed = report.rows
    assert report.model == "a model" and report.server == str(target)
    assert (opened.rate, opened.concurrency, closed.rate, closed.concurrency) == (50.0, None, None, 2)
    assert len(bodies) == opened.requests + closed.requests
    assert opened.failed == closed.failed == 0 and closed.at_once == 2
    assert opened.throughput <= opened.requests / 0.5 and closed.throughput > 0
    for body in bodies:
        assert 3.0 <= float(str(body["max_seconds"])) <= 8.0
        assert len(str(body["input"])) == pytest.approx(15 * float(str(body["max_seconds"])), abs=1)
    text = io.StringIO()
    Console(file=text, width=80).print(*report.tables())
    assert "50/s" in text.getvalue() and "2 at once" in text.getvalue() and "…" not in text.getvalue()


def test_what_is_refused_or_breaks_off_is_counted_with_its_reason() -> None:
    error = b'{"error": {"message": "too busy"}}'
    answers = iter([whole(error, "429 Too Many Requests"), HEAD + chunk(bytes(100)), b"", second({})] * 100)
    with answering(lambda body: next(answers)) as target:
        (row,) = measure_load(target, [100.0], [], 0.5, on_row=lambda load: None).rows
    assert row.requests > 8
    assert row.refused == row.errors["429: too busy"] >= row.requests // 4
    assert row.errors["the answer broke off"] >= row.requests // 4
    assert row.failed == sum(row.errors.values()) > row.requests / 2
    assert row.first_ms_p50 <= row.first_ms_p95 <= row.first_ms_p99


def test_without_one_good_stream_the_figures_are_empty() -> None:
    with answering(lambda body: whole(b"", "500 Error")) as target:
        report = measure_load(target, [100.0], [], 0.2, on_row=lambda load: None)
    row = report.as_dict()["rows"][0]
    assert row["first_ms_p95"] is None and row["errors"] == {"500: HTTP status 500": row["requests"]}
    assert json.loads(json.dumps(report.as_dict()))


def test_percentiles() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, percent) for percent in (0, 20, 50, 95, 100)] == [1.0, 1.0, 3.0, 5.0, 5.0]
    assert math.isnan(percentile([], 50))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("localhost:8000/", "http://localhost:8000"),
        ("https://voice.example", "https://voice.example:443"),
        ("http://[::1]:80", "http://[::1]:80"),
    ],
)
def test_urls(url: str, shown: str) -> None:
    assert str(Target.of(url)) == shown


@pytest.mark.parametrize("url", ["", "ftp://a", "http://a:99999", "http://a/path", "http://[", "http:///"])
def test_what_is_no_url_of_a_server(url: str) -> None:
    with pytest.raises(InputError, match=r"--server must be a URL such as http://127.0.0.1:8000, not"):
        Target.of(url)


def test_no_server_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SynthesisError, match=r"^http://127.0.0.1:1 does not answer \("):
        asyncio.run(send(Target("127.0.0.1", 1), "GET", "/v1/models"))
    assert run(["bench", "--server", "http://127.0.0.1:1", "--rate", "1"]) == 1
    assert capsys.readouterr().err.startswith("voxcpm2: http://127.0.0.1:1 does not answer (")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rate", "1"], "--rate needs --server"),
        (["--seconds", "5"], "--seconds needs --server"),
        (["--server", "http://a", "--patches", "5"], "--server and --patches exclude each other"),
        (["--server", "http://a", "--model", "x"], "--server and --model exclude each other"),
        (["--server", "http://a", "--rate", "0"], "--rate must be numbers like 1,2.5,10, not '0'"),
        (["--server", "nonsense:port"], "--server must be a URL"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *options]) == 2
    assert message in capsys.readouterr().err
