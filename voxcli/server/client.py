"""The other end: `synth --server URL` speaks a job on a running server. Needs nothing that the server needs.

Slow modules are imported where they are used: a sentence is sent as soon as the command has started.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from voxcli.errors import InputError, ModelError, SynthesisError, VoxError, quoted
from voxcli.files.read import read_regular
from voxcli.jobs.job import Job
from voxcli.jobs.result import Cue, Result
from voxcli.jobs.settings import DEFAULTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY = "VOXCPM2_API_KEY"
MAX_RECORDING = 16 << 20  # bytes that a server takes
TIMEOUT_S = 600.0  # without a byte from the server
JSON_TYPE = {"content-type": "application/json"}
KINDS = {"invalid_request_error": InputError, "not_found_error": InputError, "overloaded_error": ModelError}
KINDS |= {"rate_limit_error": ModelError, "authentication_error": InputError, "permission_error": InputError}


class RemoteFile(NamedTuple):
    result: Result
    content: bytes


class Server:
    """A running `voxcpm2 serve`."""

    def __init__(self, url: str, key: str | None = None):
        """key: default: that of the environment. Raises InputError for what is no URL."""
        try:
            parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
            self._port = parts.port
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise InputError(f"--server must be a URL such as http://127.0.0.1:8000, not {quoted(url)}")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._key = os.environ.get(KEY, "") if key is None else key

    def speak(self, job: Job) -> RemoteFile:
        """Speak a job and return its file.

        Raises the error that the server reports, and SynthesisError when it does not answer.
        """
        line = {**_fields(job), "id": job.id[:200] or "speech", "text": job.text, "format": job.format}
        if job.control is not None:
            line["control"] = job.control
        with self._answer("/v1/audio/speech/batch", line) as answer:
            values = _json(answer.read())
        if values.get("status") != "ok":
            raise _error(values.get("error_type"), values.get("error"))
        content = base64.b64decode(values["audio"])
        known = {name: value for name, value in values.items() if name in Result.__dataclass_fields__}
        cues = tuple(Cue(*cue) for cue in values.get("cues") or ())
        known |= {"warnings": tuple(values["warnings"]), "voice_notes": tuple(values["voice_notes"]), "cues": cues}
        return RemoteFile(Result(**{"out": "", **known}), content)

    @contextmanager
    def stream(self, job: Job) -> Iterator[RemoteStream]:
        """Speak a job and yield its audio while it is made. Raises as `speak` does."""
        body = {**_fields(job), "input": job.text, "response_format": "pcm", "stream_format": "sse"}
        if job.control is not None:
            body["instructions"] = job.control
        with self._answer("/v1/audio/speech", body) as answer:
            yield RemoteStream(answer)

    def model(self) -> str:
        """The name of its model, for people."""
        with self._answer("/v1/models", None) as answer:
            return str(_json(answer.read())["data"][0]["name"])

    @contextmanager
    def _answer(self, path: str, body: Mapping[str, Any] | None) -> Iterator[http.client.HTTPResponse]:
        headers = dict(JSON_TYPE) | ({"authorization": f"Bearer {self._key}"} if self._key else {})
        content = None if body is None else json.dumps(body).encode()
        connection = self._connection()
        try:
            connection.request("GET" if body is None else "POST", path, content, headers)
            answer = connection.getresponse()
            if answer.status != 200:
                error = _json(answer.read(1 << 20)).get("error") or {}
                raise _error(error.get("type"), error.get("message") or f"HTTP status {answer.status}")
            yield answer
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise SynthesisError(f"{self.url} does not answer ({reason}); is `voxcpm2 serve` running there?") from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_S, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)


class RemoteStream:
    """Audio that arrives from a server: see `voxcli.run.stream.Speaking`."""

    def __init__(self, answer: http.client.HTTPResponse):
        self._answer = answer
        self.rate = int(answer.headers["x-voxcpm2-sample-rate"])
        self.seed = int(answer.headers["x-voxcpm2-seed"])
        self.cut_off = False
        self.warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        import numpy as np

        ended = False
        for line in self._answer:
            if not line.startswith(b"data: "):
                continue
            event = _json(line[6:])
            if event["type"] == "speech.audio.delta":
                samples = np.frombuffer(base64.b64decode(event["audio"]), "<i2")
                yield samples.astype(np.float32) / np.float32(2**15)
            elif event["type"] == "error":
                raise _error(event["error"].get("type"), event["error"].get("message"))
            else:
                ended = True
                self.cut_off = event["stop_reason"] == "length"
                self.warnings = tuple(event["warnings"])
        if not ended:
            raise SynthesisError("the server ended the stream before the audio was complete")


def _fields(job: Job) -> dict[str, Any]:
    """Everything of a job but its text and its format. Raises InputError for what a server can't be sent."""
    usual = vars(DEFAULTS)
    fields = {name: value for name, value in vars(job.settings).items() if value != usual[name] and name != "format"}
    if job.voice is not None:
        from voxcli.voices.store import voices_folder

        if job.voice.parent != voices_folder():
            raise InputError("a voice file can't be sent to a server; name one of its voices with --voice")
        fields["voice"] = job.voice.stem
    if job.ref is not None and job.prompt_audio is not None:
        raise InputError("a server takes one recording")
    for path in filter(None, (job.ref, job.prompt_audio)):
        from voxcli.audio.read import check_voice

        check_voice(path)
        try:
            fields["ref_audio"] = base64.b64encode(read_regular(path, MAX_RECORDING)).decode()
        except OSError as error:
            raise InputError(f"{path} can't be sent to the server ({error.strerror or error})") from error
    if job.prompt_text:
        fields["ref_text"] = job.prompt_text
    if job.lexicon:
        fields["lexicon"] = job.lexicon.entries
    return fields


def _json(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SynthesisError("the answer is not that of a voxcpm2 server")
    return value


def _error(kind: str | None, message: object) -> VoxError:
    return KINDS.get(kind or "", SynthesisError)(str(message))
