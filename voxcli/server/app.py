"""The application: which function answers which path."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from voxcli.errors import VoxError, as_vox_error
from voxcli.jobs.plan import Utterance
from voxcli.server.batch import BatchAnswer, read_lines
from voxcli.server.dispatcher import Dispatcher
from voxcli.server.errors import ApiError, as_api_error
from voxcli.server.guard import GONE, Access, Guard
from voxcli.server.metrics import CONTENT_TYPE
from voxcli.server.openapi import openapi
from voxcli.server.page import page
from voxcli.server.planning import Planner, remove_recordings
from voxcli.server.responses import ClientGone, Connection, send_file, send_stream
from voxcli.server.schema import BatchLine, SpeechRequest, parsed
from voxcli.server.voices import VoiceEndpoints

T = TypeVar("T")


@dataclass(frozen=True)
class Model:
    """The model as GET /v1/models lists it. id: its short name.  name: with device and dtype.  created: Unix time."""

    id: str
    name: str
    created: int

    def check(self, asked: str | None) -> None:
        """Raise ApiError 404 for the name of another model."""
        if asked not in (None, "", self.id, self.id.rpartition("/")[2]):
            raise ApiError(
                404, f"no model {asked[:64]!r}; this server has {self.id!r}", param="model", code="model_not_found"
            )

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.id, "object": "model", "created": self.created, "owned_by": "voxcpm2", "name": self.name}


class Endpoints:
    """Answers requests. Texts are planned in threads, so that a long one does not hold up the others."""

    def __init__(self, model: Model, planner: Planner, dispatcher: Dispatcher):
        self.model = model
        self.planner = planner
        self.dispatcher = dispatcher
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="planner")
        self._began = time.monotonic()

    async def plan(self, make: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, make)

    # -- state ----------------------------------------------------------------------------------------------------
    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        return JSONResponse({"ready": self.dispatcher.ready}, 200 if self.dispatcher.ready else 503)

    async def metrics(self, request: Request) -> Response:
        text = self.dispatcher.metrics.text(self.dispatcher.engines.status(), self._queue())
        return PlainTextResponse(text, media_type=CONTENT_TYPE)

    async def queue(self, request: Request) -> Response:
        """For the page: how much there is to do."""
        status = self.dispatcher.engines.status()
        return JSONResponse({**self._queue(), "rows": status.rows, "rows_limit": status.rows_total})

    def _queue(self) -> dict[str, float]:
        waiting = max(0, self.dispatcher.open - self.dispatcher.engines.status().rows)
        return {"requests_open": self.dispatcher.open, "queue": waiting, "ready": int(self.dispatcher.ready)}

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self.model.as_dict()]})

    async def one_model(self, request: Request) -> Response:
        self.model.check(request.path_params["model"])
        return JSONResponse(self.model.as_dict())

    # -- speech ---------------------------------------------------------------------------------------------------
    async def create_speech(self, request: Request) -> ASGIApp:
        self.dispatcher.check()
        body = await read_body(request)

        def make() -> tuple[SpeechRequest, str, Utterance]:
            asked = parsed(SpeechRequest, body)
            self.model.check(asked.model)
            return asked, asked.file_format, self.planner.speech(asked, request.state.request_id)

        asked, format, utterance = await self.plan(make)
        return SpeechAnswer(self.dispatcher, utterance, format, asked.stream_format)

    async def create_batch(self, request: Request) -> ASGIApp:
        self.dispatcher.check()
        body = await read_body(request)
        lines = await self.plan(lambda: read_lines(body))

        async def plan(identity: str, line: BatchLine) -> Utterance:
            return await self.plan(lambda: self.planner.line(line, identity))

        return BatchAnswer(self.dispatcher, lines, plan)


class SpeechAnswer:
    """The answer to a request for speech, spoken while it is sent.

    streams: "audio" or "sse"; None: the finished file.
    """

    def __init__(self, dispatcher: Dispatcher, utterance: Utterance, format: str, streams: str | None):
        self._dispatcher = dispatcher
        self._utterance = utterance
        self._format = format
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = Connection(receive, send)
        streams = self._streams is not None
        try:
            with suppress(ClientGone):
                await self._answer(connection, streams)
        finally:
            remove_recordings(self._utterance.job)

    async def _answer(self, connection: Connection, streams: bool) -> None:
        async with self._dispatcher.speech(self._utterance, self._format, stream=streams) as speech:
            if streams:
                answer = send_stream(connection, speech, events=self._streams == "sse")
            else:
                answer = send_file(connection, speech)
            await connection.while_there(answer)


async def read_body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        raise ClientGone from None


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, VoxError)
    failure = as_api_error(error)
    return JSONResponse(failure.as_dict(), failure.status, failure.headers)


async def on_client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)  # for the metrics: nobody reads it


async def on_unexpected(request: Request, error: Exception) -> Response:
    failure = as_api_error(as_vox_error(error))
    return JSONResponse(failure.as_dict(), failure.status)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reasons = {404: "there is nothing at this path; see the README", 405: "this method is not allowed here"}
    failure = ApiError(error.status_code, reasons.get(error.status_code, error.detail))
    return JSONResponse(failure.as_dict(), failure.status, dict(error.headers or {}))


def build_app(endpoints: Endpoints, voices: VoiceEndpoints, access: Access, notify: Callable[[str], None]) -> ASGIApp:
    routes = [
        Route("/", page),
        Route("/openapi.json", openapi),
        Route("/health", endpoints.health),
        Route("/ready", endpoints.ready),
        Route("/metrics", endpoints.metrics),
        Route("/queue", endpoints.queue),
        Route("/v1/models", endpoints.models),
        Route("/v1/models/{model:path}", endpoints.one_model),
        Route("/v1/audio/speech", endpoints.create_speech, methods=["POST"]),
        Route("/v1/audio/speech/batch", endpoints.create_batch, methods=["POST"]),
        Route("/v1/audio/voices", voices.list_all, methods=["GET"]),
        Route("/v1/audio/voices", voices.create, methods=["POST"]),
        Route("/v1/audio/voices/{name}", voices.delete, methods=["DELETE"]),
    ]
    handlers: dict[Any, Any] = {VoxError: on_error, HTTPException: on_http_error}
    handlers |= {ClientGone: on_client_gone, Exception: on_unexpected}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, access, endpoints.dispatcher.metrics, notify)
