from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from tests.server.test_dispatcher import Engines
from voxcli.jobs.plan import Utterance
from voxcli.jobs.settings import DEFAULTS
from voxcli.jobs.speaker import FULL
from voxcli.server import guard as guard_module
from voxcli.server.app import Endpoints, Model, build_app
from voxcli.server.dispatcher import Dispatcher
from voxcli.server.errors import ApiError
from voxcli.server.guard import MAX_BODY, Access, Guard
from voxcli.server.metrics import Metrics
from voxcli.server.planning import Planner as PlannerOfTheServer
from voxcli.server.schema import SpeechRequest
from voxcli.server.voices import VoiceEndpoints

BEARER = {"authorization": "Bearer secret"}


def refusal(access: Access, method: str = "POST", path: str = "/v1/audio/speech", **headers: str) -> int | None:
    try:
        access.check(method, path, Headers({"host": "localhost:8000", **headers}))
    except ApiError as error:
        return error.status
    return None


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("", 401),
        ("Bearer wrong", 401),
        ("Bearer secre", 401),
        ("Bearer secret2", 401),
        ("secret", 401),
        ("Basic !", 401),
        ("Basic dXNlcjp3cm9uZw==", 401),  # user:wrong
        ("Digest secret", 401),
        ("Bearer sécret", 401),
        ("Bearer secret", None),
        ("bearer secret", None),
        ("Basic YTpzZWNyZXQ=", None),  # a:secret
    ],
)
def test_each_path_but_health_needs_the_key(given: str, status: int | None) -> None:
    access = Access.of("127.0.0.1", "secret")
    for path in ("/", "/v1/models", "/ready", "/metrics", "/nothing", "/health/"):
        assert refusal(access, "GET", path, authorization=given) == status
    assert refusal(access, "GET", "/health", authorization=given) is None


def test_a_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(guard_module.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)
    assert refusal(Access("secret"), authorization="Bearer other") == 401
    assert compared == [(b"other", b"secret")]


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000", "localhost"])
def test_without_a_key_a_local_server_answers_to_local_names(host: str) -> None:
    assert refusal(Access.of("127.0.0.1", None), host=host) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "", "localhost.evil.example", "[", "127.0.0.1@evil.example"]
)
def test_without_a_key_a_local_server_answers_to_no_other_name(host: str) -> None:
    assert refusal(Access.of("127.0.0.1", None), host=host) == 403
    assert refusal(Access.of("127.0.0.1", "secret"), host=host, **BEARER) is None
    assert refusal(Access.of("0.0.0.0", None), host=host) is None


def test_pages_of_other_sites_may_not_change_anything() -> None:
    access = Access.of("0.0.0.0", None)
    assert refusal(access, origin="http://evil.example") == 403
    assert refusal(access, "DELETE", origin="null") == 403
    assert refusal(access, origin="http://[") == 403
    assert refusal(access, origin="http://localhost:8000") is None
    assert refusal(access, "GET", origin="http://evil.example") is None, "the page can't read the answer"


def answer(app: Any, messages: Sequence[Message] = (), **headers: str) -> tuple[int, dict[str, str], Any, list[str]]:
    """Run a request through the guard: status, headers, body, and what was reported."""
    sent: list[Message] = []
    notes: list[str] = []
    waiting = list(messages)

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/x", "headers": given}
        await Guard(app, Access(), Metrics(), notes.append)(scope, receive, send)

    asyncio.run(run())
    if not sent:
        return 0, {}, None, notes
    body = b"".join(message.get("body", b"") for message in sent[1:])
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, json.loads(body) if body else None, notes


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads the whole body and sends its size."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def test_a_body_is_bounded_by_what_it_says_and_by_what_it_is() -> None:
    part = {"type": "http.request", "body": bytes(1 << 20), "more_body": True}
    last = {"type": "http.request", "body": b"", "more_body": False}
    parts = MAX_BODY >> 20
    assert answer(reading, [*[part] * parts, last])[2] == MAX_BODY
    status, _, body, _ = answer(reading, [part] * (parts + 1))
    assert status == 413 and body["error"]["message"] == "the body is larger than 32 MiB"
    assert answer(reading, content_length=str(MAX_BODY + 1))[0] == 413
    assert answer(reading, [last], content_length="9" * 5_000)[0] == 413


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "BODY_S", 0.0)

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

    async def run() -> list[Message]:
        sent: list[Message] = []

        async def never() -> Message:
            await asyncio.sleep(1e6)
            return {}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/x", "headers": []}
        await Guard(waits, Access(), Metrics(), lambda note: None)(scope, never, send)
        return sent

    assert asyncio.run(run())[0]["status"] == 408


def test_an_unexpected_error_is_one_line_and_no_traceback() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("a\nb")

    status, headers, body, notes = answer(broken, x_request_id="mine")
    assert (status, headers["x-request-id"]) == (500, "mine")
    assert body["error"] == {
        "message": "unexpected ZeroDivisionError: a b",
        "type": "server_error",
        "param": None,
        "code": None,
    }
    assert notes == ["POST /x: unexpected ZeroDivisionError: a b"]


class Planner:
    """Fails as nothing should."""

    def speech(self, asked: SpeechRequest, identity: str) -> Utterance:
        raise ZeroDivisionError("a\nb")


def whole_app(notes: list[str], metrics: Metrics, planner: Any = None) -> Any:
    endpoints = Endpoints(Model("m", "m", 0), planner or Planner(), Dispatcher(Engines(), metrics, 1))
    return build_app(endpoints, VoiceEndpoints(Engines(), str, Path(), endpoints.plan), Access(), notes.append)


async def ask(app: Any, *messages: Message) -> list[Message]:
    """POST a body to the speech path; after the messages the client is gone."""
    sent: list[Message] = []
    waiting = list(messages)

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/audio/speech", "headers": [], "query_string": b""}
    await app(scope, receive, send)
    return sent


BODY = {"type": "http.request", "body": b'{"input": "Hi."}', "more_body": False}


def test_an_unexpected_error_of_an_endpoint_is_one_line_of_json() -> None:
    notes: list[str] = []
    metrics = Metrics()

    async def test() -> list[Message]:
        return await ask(whole_app(notes, metrics), BODY)

    start, body = asyncio.run(test())
    assert start["status"] == 500
    assert json.loads(body["body"])["error"]["message"] == "unexpected ZeroDivisionError: a b"
    assert notes == ["POST /v1/audio/speech: unexpected ZeroDivisionError: a b"]
    assert metrics.requests == {("/v1/audio/speech", 500): 1}


@pytest.mark.parametrize("messages", [(), (BODY,)], ids=["before its body", "before its answer"])
def test_a_client_that_left_is_no_error(messages: tuple[Message, ...]) -> None:
    notes: list[str] = []
    metrics = Metrics()

    async def test() -> None:
        planner = PlannerOfTheServer(DEFAULTS, FULL, Path())
        await ask(whole_app(notes, metrics, planner), *messages)

    asyncio.run(test())
    assert notes == [] and metrics.requests == {("/v1/audio/speech", 499): 1}
    assert metrics.cancelled == len(messages)
