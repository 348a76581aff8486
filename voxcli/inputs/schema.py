"""The fields of a manifest line. README shows their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from voxcli.jobs.settings import DECLARED, Declaration


def _field(declared: Declaration) -> tuple[Any, Any]:
    default = declared.unset or declared.default
    words = f"{declared.help}; default: {default}" if default else declared.help
    return declared.kind | None, Field(None, description=words)


if TYPE_CHECKING:

    class SettingFields(BaseModel):
        """The settings that `voxcli.jobs.settings` declares, each optional. `Settings` checks the limits."""

else:
    SettingFields = create_model(
        "SettingFields",
        __config__=ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True),
        **{name: _field(declared) for name, declared in DECLARED.items()},
    )


class LineFields(SettingFields):
    """Fields that may be shared by many lines of a manifest, in addition to the settings."""

    ref: str | None = None
    """a recording of the voice to speak with"""
    prompt_audio: str | None = None
    """a recording to continue"""
    prompt_text: str | None = None
    """the words spoken in `prompt_audio`"""
    control: str | None = None
    """a description of the voice or the manner"""
    voice: str | None = None
    """a named voice (see Voices), or the path of a voice file that ends in `.safetensors`"""
    lexicon: str | None = None
    """a file with pronunciations of words, see Lexicon"""
    pause_after: float | None = None
    """seconds of silence after the line in a joined file"""
    takes: int | None = None
    """how many takes to make, each with its own seed and file: see Takes; default: 1"""


Identity = Annotated[
    str,
    Field(min_length=1, max_length=200),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
]


class Row(LineFields):
    """The fields of a manifest line. Only `text` is required. Paths are relative to the manifest's folder."""

    id: Identity | None = None
    """a name, unique even when case is ignored; default: the line's number"""
    text: str
    """the text to speak (required). A description in brackets may come first: `(a warm, slow voice)Hello.`"""
    out: str | None = None
    """path of the file, inside the output folder; default: made from `id`"""
    preset: str | None = None
    """a preset for this line only; the line's own fields override it"""


FIELD_NAMES = tuple(Row.model_fields)
