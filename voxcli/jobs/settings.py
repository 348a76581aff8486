"""The settings of a job: the one place where their defaults and their limits stand.

The command line, presets and manifest lines each name some of them; `Settings.updated` lays one over the other.
Free of torch, so that `--help` can show the defaults; a test holds them equal to the engine's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from voxcli.errors import InputError

MIN_STEPS = 2  # the first step of the solver is empty
MAX_STEPS = 1000
MIN_CHARS = 20
PAUSE_AFTER = 0.5  # seconds between the lines of a joined file
MAX_PAUSE = 600.0
RATES = (8_000, 192_000)
LEVELS = (-50.0, -6.0)
SECONDS = (0.001, 86_400.0)  # of audio: some samples at least, a day at most


@dataclass(frozen=True)
class Settings:
    """How one job is spoken.

    seed:         of the noise; None draws one and the results tell which.
    cfg:          classifier-free guidance: how strictly the text and the voice are followed.
    steps:        solver steps a patch: more is finer and slower.
    min_seconds:  shortest audio; None leaves it to the model.
    max_seconds:  longest audio; None leaves it to the length of the text.
    max_chars:    longer text is split at sentences into pieces of at most this many characters.
    normalize:    numbers, dates, money, units and addresses are written out as words before they are spoken.
    format:       of the file; None leaves it to the file's name, or wav.
    sample_rate:  of the file in Hz; None leaves it to the model.
    level:        RMS of the speech in dBFS, by one gain that keeps the peak below -1 dBFS; None leaves it as made.
    """

    seed: int | None = None
    cfg: float = 2.0
    steps: int = 10
    min_seconds: float | None = None
    max_seconds: float | None = None
    max_chars: int = 240
    normalize: bool = False
    format: str | None = None
    sample_rate: int | None = None
    level: float | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, not {self.seed}")
        if not math.isfinite(self.cfg) or self.cfg < 0:
            raise InputError(f"cfg must be a number of at least 0, not {self.cfg}")
        if not MIN_STEPS <= self.steps <= MAX_STEPS:
            raise InputError(f"steps must be from {MIN_STEPS} to {MAX_STEPS}, not {self.steps}")
        if self.min_seconds is not None or self.max_seconds is not None:
            _check_seconds(self.min_seconds, self.max_seconds)
        if self.max_chars < MIN_CHARS:
            raise InputError(f"max_chars must be at least {MIN_CHARS}, not {self.max_chars}")
        if self.sample_rate is not None and not RATES[0] <= self.sample_rate <= RATES[1]:
            raise InputError(f"sample_rate must be from {RATES[0]} to {RATES[1]} Hz, not {self.sample_rate}")
        if self.level is not None and not LEVELS[0] <= self.level <= LEVELS[1]:
            raise InputError(f"level must be from {LEVELS[0]:g} to {LEVELS[1]:g} dBFS, not {self.level:g}")

    def updated(self, values: Mapping[str, Any]) -> Settings:
        """These settings with some of them said anew; a value of None says nothing."""
        said = {name: value for name, value in values.items() if value is not None}
        if not said:
            return self
        assert said.keys() <= NAMES, f"no settings: {said.keys() - NAMES}"
        # A manifest makes one a line: the __init__ of a frozen dataclass takes four times as long.
        made = object.__new__(Settings)
        vars(made).update(vars(self) | said)
        made.__post_init__()
        return made


def _check_seconds(shortest: float | None, longest: float | None) -> None:
    for name, seconds in (("min_seconds", shortest), ("max_seconds", longest)):
        if seconds is not None and not SECONDS[0] <= seconds <= SECONDS[1]:
            raise InputError(f"{name} must be from {SECONDS[0]:g} to {SECONDS[1]:.0f}, not {seconds}")
    if shortest is not None and longest is not None and shortest >= longest:
        raise InputError(f"max_seconds ({longest}) must be greater than min_seconds ({shortest})")


NAMES = frozenset(field.name for field in fields(Settings))
DEFAULTS = Settings()
