"""What every request passes first: its id, the key, where it comes from, and the limits of its body."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voxcli.errors import as_vox_error
from voxcli.server.errors import ApiError, as_api_error
from voxcli.server.metrics import Metrics
from voxcli.server.planning import MAX_UPLOAD

MAX_BODY = 2 * MAX_UPLOAD  # bytes: a recording in base64, and a text
LARGE_BODY, MAX_LARGE = 1 << 20, 8  # bytes above which a body counts as large, and how many are read at once
BODY_S = 30.0  # seconds without a byte of a body after which its client is given up
REQUEST_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
GONE = 499  # the status of a request whose client left, in the metrics
OPEN_PATHS = ("/health",)  # need no key
READING = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Access:
    """Who may use the server. key: None for everybody.  hosts: names in the Host header; empty for any."""

    key: str | None = None
    hosts: tuple[str, ...] = ()

    @classmethod
    def of(cls, host: str, key: str | None) -> Access:
        """Without a key, a server on this machine answers to its names only: a web page can't reach it by another."""
        local = key is None and host in LOOPBACK
        return cls(key, (*LOOPBACK, host) if local else ())

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Raise the ApiError of a request that is not allowed."""
        host = headers.get("host", "")
        if self.hosts and _split(f"//{host}").hostname not in self.hosts:
            raise ApiError(403, "this server answers to localhost only; set a key to use it under another name")
        origin = headers.get("origin")
        if origin and method not in READING and _split(origin).netloc != host:
            raise ApiError(403, "requests from pages of other sites are refused")
        if self.key is not None and path not in OPEN_PATHS and not self._has_key(headers.get("authorization", "")):
            raise ApiError(
                401, "the key is missing or wrong; send it as `Authorization: Bearer KEY`", code="invalid_api_key"
            )

    def _has_key(self, given: str) -> bool:
        assert self.key is not None
        kind, _, value = given.partition(" ")
        if kind.lower() == "basic":  # what a browser sends for the page: any user, the key as the password
            try:
                value = base64.b64decode(value, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                value = ""
        elif kind.lower() != "bearer":
            value = ""
        return hmac.compare_digest(value.strip().encode(), self.key.encode())


def _split(url: str) -> SplitResult:
    """Split a URL; what is none has no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


class Guard:
    """Wraps the application. notify: receives unexpected errors, one line each."""

    def __init__(self, app: ASGIApp, access: Access, metrics: Metrics, notify: Callable[[str], None]):
        self._app = app
        self._access = access
        self._metrics = metrics
        self._notify = notify
        self._large = asyncio.Semaphore(MAX_LARGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else f"req_{uuid.uuid4().hex}"
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id)
        body = _Body(receive, self._large)
        try:
            body.check(headers)
            self._access.check(scope["method"], scope["path"], headers)
            await self._app(scope, body.receive, answer.send)
        except Exception as error:
            self._notify(f"{scope['method']} {scope['path']}: {as_vox_error(error)}")
            if answer.status is None:
                failure = as_api_error(as_vox_error(error))
                response = JSONResponse(failure.as_dict(), failure.status, failure.headers)
                await response(scope, receive, answer.send)
        finally:
            body.close()
            route = scope.get("route")
            self._metrics.requests[getattr(route, "path", "other"), answer.status or GONE] += 1


class _Answer:
    """Adds the request's id to the answer's headers and remembers its status."""

    def __init__(self, send: Send, request_id: str):
        self._send = send
        self._id = request_id.encode()
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", []), (b"x-request-id", self._id)]
        await self._send(message)


class _Body:
    """Bounds the body of a request. Large bodies of several requests are read a few at a time."""

    def __init__(self, receive: Receive, large: asyncio.Semaphore):
        self._receive = receive
        self._large = large
        self._holds = False
        self._size = 0
        self._complete = False

    def check(self, headers: Headers) -> None:
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > MAX_BODY:
            raise self._too_large()

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), BODY_S)
        except asyncio.TimeoutError:
            raise ApiError(408, f"no byte of the body arrived for {BODY_S:g} seconds") from None
        self._size += len(message.get("body", b""))
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        if self._size > MAX_BODY:
            raise self._too_large()
        if self._size > LARGE_BODY and not self._holds:
            await self._large.acquire()
            self._holds = True
        return message

    def close(self) -> None:
        if self._holds:
            self._large.release()

    def _too_large(self) -> ApiError:
        return ApiError(413, f"the body is larger than {MAX_BODY >> 20} MiB")
