"""POST /v1/audio/speech/batch: many texts in one request, each result sent as soon as it is there."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope, Send

from voxcli.errors import VoxError, as_vox_error
from voxcli.jobs.plan import Utterance
from voxcli.server.dispatcher import Dispatcher
from voxcli.server.errors import ApiError, as_api_error
from voxcli.server.messages import Done
from voxcli.server.planning import remove_recordings
from voxcli.server.responses import ClientGone, Connection
from voxcli.server.schema import BatchLine, parsed

MAX_LINES = 1_000
AT_ONCE = 16  # lines of one batch that are planned, spoken or waiting to be sent
MEDIA_TYPE = "application/jsonl"


def read_lines(body: bytes) -> list[tuple[str, BatchLine]]:
    """Read all lines, with their ids. Raises ApiError that names the first line that can't be used."""
    lines: list[tuple[str, BatchLine]] = []
    seen: set[str] = set()
    for number, text in enumerate(body.split(b"\n"), 1):
        if not (text := text.strip()):
            continue
        if len(lines) == MAX_LINES:
            raise ApiError(400, f"more than {MAX_LINES:,} lines; send them in several requests")
        try:
            line = parsed(BatchLine, text)
        except ApiError as error:
            raise ApiError(error.status, f"line {number}: {error}", param=error.param) from None
        identity = line.id or str(number)
        if identity in seen:
            raise ApiError(400, f"line {number}: there is an id {identity!r} already", param="id")
        seen.add(identity)
        lines.append((identity, line))
    if not lines:
        raise ApiError(400, 'there are no lines: send a JSON object like {"text": "..."} on each')
    return lines


@dataclass(eq=False)
class BatchAnswer:
    """The answer to a batch. plan: makes the utterance of a line, beside the event loop."""

    dispatcher: Dispatcher
    lines: list[tuple[str, BatchLine]]
    plan: Callable[[str, BatchLine], Any]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = Connection(receive, send)
        with suppress(ClientGone):
            await connection.while_there(self._answer(connection))

    async def _answer(self, connection: Connection) -> None:
        await connection.start(MEDIA_TYPE, {})
        places = asyncio.Semaphore(AT_ONCE)
        results: asyncio.Queue[bytes] = asyncio.Queue()

        async def speak(identity: str, line: BatchLine) -> None:
            results.put_nowait(await self._result(identity, line))

        async def start() -> None:
            for identity, line in self.lines:
                await places.acquire()
                speaking.add(asyncio.create_task(speak(identity, line)))

        speaking: set[asyncio.Task[None]] = set()
        speaking.add(asyncio.create_task(start()))
        try:
            for _ in self.lines:
                await connection.send(await results.get())
                places.release()  # when it is sent: a slow reader begins no more lines
            await connection.send(b"", more=False)
        finally:
            for task in speaking:
                task.cancel()
            await asyncio.gather(*speaking, return_exceptions=True)

    async def _result(self, identity: str, line: BatchLine) -> bytes:
        try:
            utterance: Utterance = await self.plan(identity, line)
            try:
                async with self.dispatcher.speech(utterance, line.file_format, stream=False, wait=True) as speech:
                    return _encoded(await speech.done(), line.file_format)
            finally:
                remove_recordings(utterance.job)
        except VoxError as error:
            return _failure(identity, line, error)
        except Exception as error:
            return _failure(identity, line, as_vox_error(error))


def _encoded(done: Done, format: str) -> bytes:
    assert done.content is not None
    audio = base64.b64encode(done.content).decode()
    return _line({**vars(done.result), "format": format, "audio": audio})


def _failure(identity: str, line: BatchLine, error: VoxError) -> bytes:
    kind = as_api_error(error).as_dict()["error"]["type"]
    return _line({"id": identity, "text": line.text, "status": "failed", "error": str(error), "error_type": kind})


def _line(values: dict[str, Any]) -> bytes:
    unknown = ("out", "sha256", "fingerprint")  # of files, which there are none of
    return json.dumps({name: value for name, value in values.items() if name not in unknown}).encode() + b"\n"
