"""Answers with audio: a finished file, a stream, and events. Each ends when its client leaves or stops reading."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from starlette.types import Message, Receive, Send

from voxcli.audio.encode import StreamEncoder
from voxcli.errors import VoxError
from voxcli.jobs.result import Result
from voxcli.server.dispatcher import Speech
from voxcli.server.errors import as_api_error
from voxcli.server.messages import Sound
from voxcli.server.schema import content_type

STALL_S = 60.0  # a client that has taken nothing for this long is gone
CHUNK = 1 << 18  # bytes of a file sent at once
T = TypeVar("T")


class ClientGone(Exception):
    """The client left, or stopped reading, before the end of its answer."""


class Connection:
    """The way to one client. Its methods raise ClientGone."""

    def __init__(self, receive: Receive, send: Send):
        self._receive, self._send = receive, send
        self._sending_since: float | None = None
        self.started = False

    async def start(self, media_type: str, headers: dict[str, str], length: int | None = None) -> None:
        all_headers = {"content-type": media_type, "cache-control": "no-store", **headers}
        if length is not None:
            all_headers["content-length"] = str(length)
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in all_headers.items()]
        self.started = True
        await self._send({"type": "http.response.start", "status": 200, "headers": encoded})

    async def send(self, content: bytes, *, more: bool = True) -> None:
        self._sending_since = asyncio.get_running_loop().time()
        message: Message = {"type": "http.response.body", "body": content, "more_body": more}
        await self._send(message)
        self._sending_since = None

    async def send_all(self, content: bytes) -> None:
        for start in range(0, len(content), CHUNK):
            await self.send(content[start : start + CHUNK])
        await self.send(b"", more=False)

    async def while_there(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` as long as the client is there and reads. Raises ClientGone."""
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(self._left())
        try:
            while not working.done():
                await asyncio.wait({working, leaving}, timeout=STALL_S / 4, return_when=asyncio.FIRST_COMPLETED)
                if leaving.done() or self._stalled():
                    break
            if working.done():
                return working.result()
            raise ClientGone
        finally:
            for task in (working, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    def _stalled(self) -> bool:
        since = self._sending_since
        return since is not None and asyncio.get_running_loop().time() - since > STALL_S

    async def _left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def send_file(connection: Connection, speech: Speech) -> None:
    """Send the finished file of a request. Raises the error of one that failed."""
    done = await speech.done()
    assert done.content is not None
    result, format = done.result, speech.task.format
    headers = {**_about(result), "content-disposition": f'inline; filename="speech.{_extension(format)}"'}
    await connection.start(content_type(format, result.sample_rate), headers, len(done.content))
    await connection.send_all(done.content)


async def send_stream(connection: Connection, speech: Speech, events: bool) -> None:
    """Send audio while it is made, as it is or as server-sent events.

    Raises the error of a request that failed before its first audio. After that the answer breaks off, which a client
    sees; events report the error.
    """
    event = await speech.next()
    rate = event.rate if isinstance(event, Sound) else event.result.sample_rate
    assert rate is not None, "the result of a stream has its rate"
    encoder = StreamEncoder(rate, speech.task.format, speech.task.utterance.job.settings.bitrate)
    media_type = "text/event-stream" if events else content_type(speech.task.format, rate)
    about = {"x-voxcpm2-seed": str(speech.seed), "x-voxcpm2-sample-rate": str(rate)}
    await connection.start(media_type, about)
    try:
        while isinstance(event, Sound):
            if content := encoder.add(event.samples):
                await connection.send(_delta(content) if events else content)
            event = await speech.next()
    except VoxError as error:
        if events:
            await connection.send(_event({"type": "error", **as_api_error(error).as_dict()}), more=False)
        return
    rest = encoder.end()
    if not events:
        await connection.send(rest, more=False)
        return
    if rest:
        await connection.send(_delta(rest))
    await connection.send(_event(done_event(event.result)), more=False)


def done_event(result: Result) -> dict[str, Any]:
    """The last event of a stream: OpenAI's, and what is known of the audio."""
    known = ("duration_s", "seed", "stop_reason", "sample_rate", "exact", "warnings", "voice_notes")
    usage = {"input_tokens": 0, "output_tokens": result.patches or 0, "total_tokens": result.patches or 0}
    return {"type": "speech.audio.done", "usage": usage, **{name: getattr(result, name) for name in known}}


def _delta(content: bytes) -> bytes:
    return _event({"type": "speech.audio.delta", "audio": base64.b64encode(content).decode()})


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _about(result: Result) -> dict[str, str]:
    found = {"seed": result.seed, "duration": result.duration_s, "stop-reason": result.stop_reason}
    headers = {f"x-voxcpm2-{name}": str(value) for name, value in found.items()}
    if result.warnings:
        headers["x-voxcpm2-warnings"] = json.dumps(result.warnings)[:2000]
    return headers


def _extension(format: str) -> str:
    from voxcli.audio.formats import FORMATS

    return FORMATS[format].extension[1:] if format in FORMATS else format
