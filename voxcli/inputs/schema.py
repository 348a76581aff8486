"""The fields of a manifest line as they are read from text, each with what it says: README shows these words."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class SettingFields(BaseModel):
    """The names and types of `Settings`, each optional; a test holds them equal. Limits are checked by `Settings`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    seed: int | None = None
    """the same seed and text give the same audio; drawn if it is missing, and told in the results"""
    cfg: float | None = None
    """how strictly text and voice are followed"""
    steps: int | None = None
    """solver steps for each patch of audio; more is finer and slower"""
    min_seconds: float | None = None
    """shortest audio"""
    max_seconds: float | None = None
    """longest audio; what is cut off there has `stop_reason` `length`"""
    max_chars: int | None = None
    """longest piece a text is split into, in characters"""
    normalize: bool | None = None
    """`true` says numbers, dates, money, units and addresses as words (needs the extra `normalize`)"""
    format: str | None = None
    """`wav` (16 bit), `wav24`, `wavf` (float), `flac`, `ogg` (Opus) or `mp3`, where `out` does not tell"""
    sample_rate: int | None = None
    """of the file in Hz; the model's own if it is missing"""
    level: float | None = None
    """RMS of the speech in dBFS, such as -20, its peak below -1 dBFS; left as it was made if it is missing"""


class LineFields(SettingFields):
    """What else many lines of a manifest may have in common."""

    ref: str | None = None
    """a recording whose voice speaks"""
    prompt_audio: str | None = None
    """a recording to go on from"""
    prompt_text: str | None = None
    """the words spoken in `prompt_audio`"""
    control: str | None = None
    """a description of the voice or the manner"""
    voice: str | None = None
    """a named voice (see Voices), or the path of a voice file that ends in `.safetensors`"""
    pause_after: float | None = None
    """seconds of silence after the line where a batch is joined"""


Identity = Annotated[
    str,
    Field(min_length=1, max_length=200),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
]


class Row(LineFields):
    """The fields of a manifest line. Only `text` must be there; paths start from the manifest's folder."""

    id: Identity | None = None
    """a name, unique also when case is ignored; the number of the line's place if it is missing"""
    text: str
    """what is spoken; must be there. A description in brackets may come first: `(a warm, slow voice)Hello.`"""
    out: str | None = None
    """the file, inside the output folder; made from `id` if it is missing"""
    preset: str | None = None
    """a preset for this line alone; what the line says itself goes before it"""


FIELD_NAMES = tuple(Row.model_fields)
