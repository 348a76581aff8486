"""Stored voices: list, create from an upload, delete. They are the voices of `voxcpm2 voices`."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path, PurePath
from typing import Any, Protocol

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voxcli.audio.flac import flac_of
from voxcli.audio.read import Recording, read_voice
from voxcli.errors import InputError, shortened
from voxcli.files.write import make_folder
from voxcli.server.errors import ApiError
from voxcli.server.planning import MAX_UPLOAD, check_recording, stored_voice
from voxcli.terminal import printable
from voxcli.text.clean import clean, is_speakable
from voxcli.voices.store import (
    Latents,
    VoiceInfo,
    check_new,
    read_info,
    remove_voice,
    voice_names,
    voice_path,
    write_voice,
)

MAX_VOICES = 1_000
MAX_FIELD = 1 << 16  # bytes of a field that is no file
NAME, SAMPLE, WORDS = "name", "audio_sample", "ref_text"
IGNORED = ("consent", "type")  # OpenAI's client sends them


class VoiceEncoder(Protocol):
    """Encodes recordings. rate: in Hz, of the samples it takes."""

    @property
    def encoder_rate(self) -> int: ...
    def encode(self, recording: Recording, words: bool) -> Future[dict[str, Latents]]: ...


class VoiceEndpoints:
    """in_thread: runs what takes time beside the event loop.  identity: of the model's voice encoder."""

    def __init__(
        self,
        encoder: VoiceEncoder,
        identity: Callable[[], str],
        folder: Path,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
    ):
        self._encoder = encoder
        self._identity = identity
        self._folder = folder
        self._in_thread = in_thread

    async def list_all(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": await self._in_thread(_all_voices)})

    async def create(self, request: Request) -> Response:
        """Multipart: `name`, `audio_sample` (a file), and `ref_text`, the words spoken in it."""
        async with request.form(max_files=1, max_fields=8, max_part_size=MAX_FIELD) as form:
            name, words, upload = _fields(form)
            path = await self._in_thread(lambda: _check_name(name))
            recording, kept = await self._in_thread(lambda: self._read(upload))
            latents = await asyncio.wrap_future(self._encoder.encode(recording, bool(words)))
            info = VoiceInfo(
                encoder=await self._in_thread(self._identity),
                recording=shortened(printable(PurePath(upload.filename or "").name) or "upload"),
                sha256=recording.sha256,
                seconds=round(recording.duration_s, 2),
                text=words,
                notes=recording.notes,
            )
        await self._in_thread(lambda: _store(name, path, info, latents, kept))
        return JSONResponse(_as_dict(path.stem, path, info), 201)

    async def delete(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._in_thread(lambda: _remove(name))
        return JSONResponse({"id": name, "object": "audio.voice.deleted", "deleted": True})

    def _read(self, upload: UploadFile) -> tuple[Recording, bytes]:
        """Return the recording for the encoder, and as it is kept."""
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            upload.file.seek(0)
            shutil.copyfileobj(upload.file, file)
            file.flush()
            if file.tell() > MAX_UPLOAD:
                raise ApiError(413, f"{SAMPLE} is larger than {MAX_UPLOAD >> 20} MiB", param=SAMPLE)
            check_recording(Path(file.name), SAMPLE)
            kept = read_voice(Path(file.name), None)
            return read_voice(Path(file.name), self._encoder.encoder_rate), flac_of(kept.samples, kept.rate)


def _fields(form: FormData) -> tuple[str, str, UploadFile]:
    for field in form:
        if field not in (NAME, SAMPLE, WORDS, *IGNORED):
            raise ApiError(
                400, f"unknown field {field[:64]!r}; there are {NAME}, {SAMPLE} and {WORDS}", param=field[:64]
            )
    name, words, upload = form.get(NAME), form.get(WORDS, ""), form.get(SAMPLE)
    if not isinstance(name, str) or not name:
        raise ApiError(400, f"field {NAME!r} is missing: the name of the voice", param=NAME)
    if not isinstance(upload, UploadFile):
        raise ApiError(400, f"field {SAMPLE!r} is missing: a recording of the voice, as a file", param=SAMPLE)
    if not isinstance(words, str) or (words and not is_speakable(clean(words))):
        raise ApiError(400, f"{WORDS} has no letter and no digit: give the words of the recording", param=WORDS)
    return name, clean(words) if words else "", upload


def _check_name(name: str) -> Path:
    if name in voice_names():
        raise ApiError(409, f"there is a voice {name!r} already; delete it first", param=NAME)
    if len(voice_names()) >= MAX_VOICES:
        raise ApiError(409, f"there are {MAX_VOICES} voices already; delete one first")
    return check_new(name, replace=False)


def _store(name: str, path: Path, info: VoiceInfo, latents: dict[str, Latents], recording: bytes) -> None:
    make_folder(path.parent)
    _check_name(name)  # another request may have been faster
    write_voice(path, info, latents, recording)


def _remove(name: str) -> None:
    stored_voice(name)
    remove_voice(name)


def _all_voices() -> list[dict[str, Any]]:
    found = []
    for name in voice_names():
        path = voice_path(name)
        try:
            found.append(_as_dict(name, path, read_info(path)))
        except (InputError, OSError):  # damaged, or deleted meanwhile
            continue
    return found


def _as_dict(name: str, path: Path, info: VoiceInfo) -> dict[str, Any]:
    created = int(path.stat().st_mtime)
    values = {"id": name, "object": "audio.voice", "name": name, "type": "audio_sample", "created_at": created}
    return {**values, "seconds": info.seconds, "ref_text": info.text, "notes": info.notes}
