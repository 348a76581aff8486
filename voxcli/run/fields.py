"""The settings as they are read from text: any of them may be named, nothing else may."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class SettingFields(BaseModel):
    """The names and types of `Settings`, each optional; a test holds them equal. Limits are checked by `Settings`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int | None = None
    cfg: float | None = None
    steps: int | None = None
    min_seconds: float | None = None
    max_seconds: float | None = None
    max_chars: int | None = None
    normalize: bool | None = None
    format: str | None = None
    sample_rate: int | None = None
    level: float | None = None
