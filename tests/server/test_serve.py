"""The process: how it starts, what it does with signals, and who may use it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.server.servers import LONG, MODEL, SENTENCE, Served, served
from voxcli.cli.main import run
from voxcli.extras import missing
from voxcli.interrupts import SAME_S


@contextmanager
def streaming(server: Served, body: dict[str, Any]) -> Iterator[http.client.HTTPResponse]:
    """Send a request for speech; its answer has begun."""
    with closing(server.connect()) as connection:
        connection.request("POST", "/v1/audio/speech", json.dumps(body))
        with connection.getresponse() as answer:
            yield answer


def test_sigterm_ends_it_after_the_requests_it_has_accepted(demo_voice: Path) -> None:
    text = " ".join([SENTENCE] * 3)
    with served() as server, ExitStack() as opened:
        whole = server.ask(
            "POST", "/v1/audio/speech", {"input": text, "seed": 3, "response_format": "pcm", "max_chars": 60}
        )
        body = {"input": text, "seed": 3, "response_format": "pcm", "max_chars": 60, "stream_format": "audio"}
        answer = opened.enter_context(streaming(server, body))
        first = answer.read(1000)
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 60
        while (ready := server.ask("GET", "/ready")).status != 503:
            assert time.monotonic() < deadline
        assert json.loads(ready.body) == {"ready": False}
        refused = server.ask("POST", "/v1/audio/speech", {"input": SENTENCE})
        assert (refused.status, refused.error) == (503, "the server is stopping")
        rest = answer.read()
        assert len(first + rest) == len(whole.body)
        code, said = server.wait()
    assert code == 0
    assert said.splitlines() == [
        "voxcpm2: stopping after 1 request; a second signal ends at once",
        "voxcpm2: stopped",
    ]


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_second_signal_ends_it_at_once(demo_voice: Path, number: int, code: int, word: str) -> None:
    with served() as server, ExitStack() as opened:
        body = {"input": LONG * 20, "seed": 3, "stream_format": "audio"}
        opened.enter_context(streaming(server, body)).read(100)
        server.process.send_signal(number)
        time.sleep(SAME_S + 0.5)
        assert server.process.poll() is None
        ended, said = server.end(number)
    assert ended == code
    assert said.splitlines()[-1] == f"voxcpm2: {word}"


def test_an_idle_server_ends_with_the_first_signal(demo_voice: Path) -> None:
    with served() as server:
        assert server.end(signal.SIGINT) == (0, "voxcpm2: stopped\n")


def test_with_a_key_only_its_owners_are_served(demo_voice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOXCPM2_API_KEY", "secret")
    with served() as server:
        assert server.ask("GET", "/health").status == 200
        for path in ("/ready", "/metrics", "/v1/models", "/"):
            assert server.ask("GET", path).status == 401
        with pytest.raises(openai.AuthenticationError, match="the key is missing or wrong"):
            server.client("wrong").audio.speech.create(model=MODEL, voice="default", input="Hi.")
        assert server.client("secret").audio.speech.create(model=MODEL, voice="default", input="Hi.").content


def test_a_port_that_is_taken_is_reported_before_a_model_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["serve", "--port", str(port), "--model", "nowhere"]) == 2
    assert capsys.readouterr().err == (
        f"voxcpm2: can't listen on 127.0.0.1, port {port} (Address already in use); choose another --port\n"
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--port", "0", "--model", "nowhere"], 3, "nowhere"),
        (["--port", "70000"], 2, "--port must be a whole number from 0 to 65535"),
        (["--port", "0", "--api-key", ""], 2, "the key is empty"),
        (["--host", "256.0.0.1", "--port", "0"], 2, "can't listen on 256.0.0.1"),
        (["--random-weights", "voxcpm2", "--model", "x"], 2, "--random-weights and --model exclude each other"),
        (["--preset", "none-such"], 2, "no preset 'none-such'"),
    ],
    ids=["model", "port", "key", "host", "weights", "preset"],
)
def test_what_can_not_be_served_is_one_line(
    options: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", *options]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def parent(process: int) -> int:
    """The process that started another one; 0 when it has ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def workers_of(server: Served) -> list[int]:
    """The worker processes of a server, which the raylet that it started has started."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and (entry / "cmdline").read_bytes().startswith(b"ray::ServeWorker"):
                found.append(int(entry.name))
    return [each for each in found if parent(parent(each)) == server.process.pid]


@pytest.mark.slow
@pytest.mark.skipif(bool(missing("ray")), reason="Ray is not installed")
def test_several_engines_speak_as_one_and_a_dead_one_is_replaced(demo_voice: Path, server: Served) -> None:
    body = {"input": SENTENCE, "seed": 7, "response_format": "wav"}
    whole = server.ask("POST", "/v1/audio/speech", body).body
    with served("--workers", "2") as many:
        assert many.said[-1].endswith("serves demo voice on cpu, float32, 2 workers")
        assert many.ask("POST", "/v1/audio/speech", body).body == whole
        assert many.gauges()["voxcpm2_rows_limit"] == 2 * server.gauges()["voxcpm2_rows_limit"]
        first, _ = workers_of(many)
        os.kill(first, signal.SIGKILL)
        for _ in range(4):
            assert many.ask("POST", "/v1/audio/speech", body).body == whole
        code, said = many.end()
    assert code == 0
    assert f"(process {first}) died: its process ended; starting another" in said
    assert said.splitlines()[-1] == "voxcpm2: stopped"
