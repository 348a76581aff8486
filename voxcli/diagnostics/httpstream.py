"""Send a request and receive its answer in pieces, with the time of each: HTTP/1.1 over asyncio, for measurements.

Hundreds of streams at once must not wait for each other in the client, and nothing else is needed of HTTP here.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from voxcli.errors import InputError, SynthesisError, quoted

MAX_ERROR = 1 << 16  # bytes of an answer that reports an error


@dataclass(frozen=True)
class Target:
    """A server. key: sent with each request if it is not empty."""

    host: str
    port: int
    secure: bool = False
    key: str = ""

    @classmethod
    def of(cls, url: str, key: str = "") -> Target:
        """Read http://HOST:PORT. Raises InputError."""
        try:
            parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            parts, port = urlsplit(""), 0
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise InputError(f"--server must be a URL such as http://127.0.0.1:8000, not {quoted(url)}")
        return cls(parts.hostname, port, parts.scheme == "https", key)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"


@dataclass
class Reply:
    """The start of an answer. Iterate for the pieces of its body as they arrive."""

    status: int
    headers: dict[str, str]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    complete: bool = field(default=False, init=False)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises SynthesisError when the answer breaks off."""
        try:
            async for piece in (
                self._chunks() if "chunked" in self.headers.get("transfer-encoding", "") else self._whole()
            ):
                yield piece
        except (asyncio.IncompleteReadError, OSError, ValueError) as error:
            raise SynthesisError("the answer broke off") from error
        self.complete = True

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]

    async def _whole(self) -> AsyncIterator[bytes]:
        yield await self._reader.readexactly(int(self.headers.get("content-length", "0")))

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self])

    async def error(self) -> str:
        """The message of an answer that reports an error."""
        try:
            return str(json.loads((await self.read())[:MAX_ERROR])["error"]["message"])
        except (ValueError, KeyError, TypeError, SynthesisError):
            return f"HTTP status {self.status}"

    async def close(self) -> None:
        await _close(self._writer)


async def send(target: Target, method: str, path: str, body: Any = None) -> Reply:
    """Send a request, with `body` as JSON. Raises SynthesisError when the server does not answer."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"host: {target.host}:{target.port}", "connection: close"]
    lines += [f"content-length: {len(content)}", *([f"authorization: Bearer {target.key}"] if target.key else [])]
    writer: asyncio.StreamWriter | None = None
    try:
        context = ssl.create_default_context() if target.secure else None
        reader, writer = await asyncio.open_connection(target.host, target.port, ssl=context, limit=1 << 20)
        writer.write("\r\n".join((*lines, "", "")).encode() + content)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        if writer is not None:
            await _close(writer)
        reason = getattr(error, "strerror", None) or "it closed the connection"
        raise SynthesisError(f"{target} does not answer ({reason})") from error
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return Reply(int(head[0].split()[1]), headers, reader, writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()
