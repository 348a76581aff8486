"""The JSON bodies of requests: OpenAI's fields, and the settings of `voxcli.jobs.settings` beside them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voxcli.audio.encode import RAW, STREAMED
from voxcli.audio.formats import FORMATS
from voxcli.errors import quoted
from voxcli.inputs.columns import hint
from voxcli.inputs.schema import Identity, SettingFields
from voxcli.jobs.settings import WHOLE
from voxcli.server.errors import ApiError

DEFAULT_VOICE = "default"  # the model's own
MAX_TEXT = 50_000  # characters of one text: about an hour of speech
MAX_STEPS = 50  # of the solver: with more, one request would hold up all others
RESPONSE_FORMATS = (*dict.fromkeys(("mp3", "opus", "flac", "wav", RAW, *FORMATS)),)  # OpenAI's first

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Base64 = Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]
Body = TypeVar("Body", bound=BaseModel)


class VoiceId(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str


class SpokenFields(SettingFields):
    """The fields of every request, most of them about its voice."""

    voice: str | VoiceId | None = None
    """a stored voice, or `default` for the model's own"""
    ref_audio: Base64 | None = None
    """a recording of the voice to speak with, base64"""
    ref_text: str | None = None
    """the words spoken in `ref_audio`; speech then continues from it"""
    lexicon: dict[str, str] | None = None
    """pronunciations: the word as it is written, and as it is spoken"""

    def setting(self, name: str) -> Any:
        """The value of one of the settings; None if it is not set."""
        return getattr(self, name)

    @property
    def voice_name(self) -> str | None:
        """The name of a stored voice; None for the model's own."""
        name = self.voice.id if isinstance(self.voice, VoiceId) else self.voice
        return None if name in (None, "", DEFAULT_VOICE) else name


class SpeechRequest(SpokenFields):
    """The body of POST /v1/audio/speech."""

    input: Text
    """the text to speak"""
    model: str | None = None
    """a name that GET /v1/models lists; default: the only one"""
    instructions: str | None = None
    """a description of the voice or the manner"""
    response_format: str = "mp3"
    """mp3, opus, flac, wav, or pcm: bare samples, 16 bit, little endian, mono"""
    speed: float | None = None
    """only 1: the model has no speed control"""
    stream_format: Literal["audio", "sse"] | None = None
    """send the audio while it is made, as it is or as events; default: the finished file"""

    @property
    def file_format(self) -> str:
        """A name in FORMATS, or RAW. Raises ApiError."""
        if self.setting("format") is not None:
            raise ApiError(400, "unknown field 'format'; did you mean 'response_format'?", param="format")
        if self.speed not in (None, 1.0):
            raise ApiError(400, f"speed must be 1, not {self.speed:g}: the model has no speed control", param="speed")
        named = self.response_format
        known = ", ".join(RESPONSE_FORMATS)
        if named not in RESPONSE_FORMATS:
            what = f"response_format {quoted(self.response_format)} can't be written, only {known}"
            raise ApiError(400, what, param="response_format")
        if self.stream_format is not None:
            if named not in STREAMED:
                raise ApiError(400, f"{named} can't be streamed; leave out stream_format", param="stream_format")
            for name in WHOLE:
                if self.setting(name) is not None:
                    raise ApiError(400, f"{name} needs the whole audio; leave out stream_format", param=name)
        return named


class BatchLine(SpokenFields):
    """A line of POST /v1/audio/speech/batch, as a line of a manifest."""

    id: Identity | None = None
    """a name for the result; default: the line's number"""
    text: Text
    """the text to speak"""
    control: str | None = None
    """a description of the voice or the manner"""

    @property
    def file_format(self) -> str:
        return self.setting("format") or "wav"


def parsed(model: type[Body], body: bytes) -> Body:
    """Read a JSON body. Raises ApiError 400 that names the field and the reason."""
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        name = str(problem["loc"][0]) if problem["loc"] else None
        if name is None:
            raise ApiError(400, f"the body is not a JSON object: {_reason(problem)}") from None
        if problem["type"] == "extra_forbidden":
            message = f"unknown field {quoted(name)}{hint(name, tuple(model.model_fields))}"
        elif problem["type"] == "missing":
            message = f"field {quoted(name)} is missing"
        elif problem["type"] == "string_too_long":
            message = f"{name} is longer than {MAX_TEXT:,} characters; send it in parts"
        else:
            message = f"{name}: {_reason(problem)}, not {quoted(problem['input'])}"
        raise ApiError(400, message, param=name) from None


def _reason(problem: Any) -> str:
    message = str(problem["msg"])
    return f"{message[:1].lower()}{message[1:]}"


def content_type(format: str, rate: int | None) -> str:
    """Return the media type of a format, for bare samples with their rate."""
    if format == RAW:
        return f"audio/pcm;rate={rate};channels=1" if rate else "audio/pcm"
    return FORMATS[format].media
