"""The settings of a job. `Settings` declares each of them in one place: type, default, limits, help text.

The command line (`voxcli.cli.options`), manifests and presets (`voxcli.inputs.schema`) and the tables of the READMEs
are derived from the declarations: a new field becomes an option, a manifest field and a preset field. Only the code
that uses its value has to be added. Torch, pydantic and numpy are not imported, so that `--help` starts fast.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args, get_type_hints

from voxcli.audio.formats import DEFAULT_FORMAT, FORMATS, bitrate_formats
from voxcli.errors import InputError, quoted
from voxcli.model.solver import SOLVERS
from voxcli.text.languages import LANGUAGES, language_name, language_tag, near_tag

MIN_STEPS = 2  # the first step of the solver has zero velocity
MAX_STEPS = 1000
MIN_CHARS = 20
PAUSE_AFTER = 0.5  # seconds between the lines of a joined file
MAX_PAUSE = 600.0
RATES = (8_000, 192_000)
BITRATES = (6, 320)
LEVELS = (-50.0, -6.0)
LOUDNESSES = (-50.0, -5.0)
SECONDS = (0.001, 86_400.0)  # limits of min_seconds and max_seconds: a few samples to a day

T = TypeVar("T")


class SettingError(InputError):
    """A setting has an invalid value. `name` is the field, `reason` the rest of the message."""

    def __init__(self, name: str, reason: str):
        self.name = name
        self.reason = reason
        super().__init__(f"{name} {reason}")


@dataclass(frozen=True)
class Declaration:
    """The declaration of a setting.

    kind:     its type: int, float, str or bool.
    default:  its default; None if `unset` describes what happens.
    help:     what it does, a phrase without a full stop.
    unset:    what happens if it is not set.
    metavar:  placeholder for its value in help texts; None for a switch.
    group:    section of help texts that shows it.
    limits:   minimum and maximum value.
    expected: the limits in words, or the choices if there are many.
    choices:  allowed values; empty for any.
    """

    kind: type
    default: Any
    help: str
    unset: str
    metavar: str | None
    group: Literal["speech", "output"]
    limits: tuple[float, float]
    expected: str
    choices: tuple[str, ...]

    def allows(self, value: Any) -> bool:
        return value in self.choices if self.choices else bool(self.limits[0] <= value <= self.limits[1])

    def refusal(self, value: Any) -> str:
        """Return the message for a value that is not allowed."""
        if self.choices and not self.expected:
            return f"must be one of {', '.join(self.choices)}, not {quoted(value)}"
        return f"must be {self.expected}, not {quoted(value)}"


def setting(
    default: T,
    help: str,
    *,
    metavar: str | None = "N",
    unset: str = "",
    group: Literal["speech", "output"] = "speech",
    limits: tuple[float, float] = (-math.inf, math.inf),
    expected: str = "",
    choices: tuple[str, ...] = (),
) -> T:
    """Declare a field of `Settings`: see `Declaration`."""
    words = {"help": help, "unset": unset, "metavar": metavar, "group": group}
    return field(default=default, metadata=words | {"limits": limits, "expected": expected, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """How one job is spoken."""

    seed: int | None = setting(
        None,
        "random seed: the same seed and text give the same audio",
        unset="random, recorded in the results",
        limits=(0, 2**63 - 1),
        expected="a whole number from 0 to 2^63 - 1",
    )
    cfg: float = setting(
        2.0,
        "classifier-free guidance: how closely to follow the text and the voice",
        metavar="SCALE",
        limits=(0.0, sys.float_info.max),
        expected="a number of at least 0",
    )
    steps: int = setting(
        10,
        "solver steps per patch of audio (the first one costs nothing); more steps are finer and slower",
        limits=(MIN_STEPS, MAX_STEPS),
        expected=f"from {MIN_STEPS} to {MAX_STEPS}",
    )
    solver: str = setting(
        "euler",
        "diffusion solver: `euler`, as in the reference, or `ab2`, closer to the exact solution with the same steps",
        metavar="|".join(SOLVERS),
        choices=SOLVERS,
    )
    min_seconds: float | None = setting(
        None,
        "minimum length of the audio",
        metavar="SECONDS",
        unset="chosen by the model",
        limits=SECONDS,
        expected=f"from {SECONDS[0]:g} to {SECONDS[1]:.0f}",
    )
    max_seconds: float | None = setting(
        None,
        "maximum length of the audio; longer speech is cut off (`stop_reason` `length`)",
        metavar="SECONDS",
        unset="depends on the length of the text",
        limits=SECONDS,
        expected=f"from {SECONDS[0]:g} to {SECONDS[1]:.0f}",
    )
    max_chars: int = setting(
        240,
        "maximum characters per segment; longer text is split at sentences and the segments are joined",
        limits=(MIN_CHARS, math.inf),
        expected=f"at least {MIN_CHARS}",
    )
    normalize: bool = setting(
        False,
        "speak numbers, dates, money, units and addresses as words (needs the extra `normalize`)",
        metavar=None,
    )
    language: str | None = setting(
        None,
        "language of the text, such as en, de or zh: sets how `normalize` speaks numbers",
        metavar="TAG",
        unset="detected if certain, else English",
        choices=tuple(LANGUAGES),
        expected="a language tag such as en, de or zh",
    )
    descriptions: bool = setting(
        True,
        "treat brackets before a text, `(a warm, slow voice)Hello.`, as a description of the voice if they read "
        "like one; if off, all brackets are spoken",
        metavar=None,
    )
    format: str | None = setting(
        None,
        "audio format: "
        + ", ".join(f"`{name}`" + (f" ({kind.note})" * bool(kind.note)) for name, kind in FORMATS.items()),
        metavar="FORMAT",
        unset=f"by the extension of the file, else {DEFAULT_FORMAT}",
        group="output",
        choices=tuple(FORMATS),
    )
    bitrate: int | None = setting(
        None,
        f"bitrate of {bitrate_formats('and')}, rounded to the nearest one that the format has at the sample rate",
        metavar="KBPS",
        unset="chosen by the format",
        group="output",
        limits=BITRATES,
        expected=f"from {BITRATES[0]} to {BITRATES[1]} kbit/s",
    )
    sample_rate: int | None = setting(
        None,
        "sample rate of the file",
        metavar="HZ",
        unset="the model's own, 8000 for telephone formats",
        group="output",
        limits=RATES,
        expected=f"from {RATES[0]} to {RATES[1]} Hz",
    )
    level: float | None = setting(
        None,
        "bring the speech to this RMS level, such as -20, with its peak below -1 dBFS",
        metavar="DBFS",
        unset="left as generated",
        group="output",
        limits=LEVELS,
        expected=f"from {LEVELS[0]:g} to {LEVELS[1]:g} dBFS",
    )
    loudness: float | None = setting(
        None,
        "bring the file to this loudness (ITU-R BS.1770), such as -23, with its true peak at most -1 dBTP",
        metavar="LUFS",
        unset="left as generated",
        group="output",
        limits=LOUDNESSES,
        expected=f"from {LOUDNESSES[0]:g} to {LOUDNESSES[1]:g} LUFS",
    )

    def __post_init__(self) -> None:
        self._check(vars(self))

    def _check(self, values: Mapping[str, Any]) -> None:
        """Raise SettingError if one of `values`, which are among its own, is not allowed."""
        for name, value in values.items():
            if value is not None and value is not _USUAL[name] and not DECLARED[name].allows(value):
                raise SettingError(name, DECLARED[name].refusal(value))
        if self.min_seconds is not None and self.max_seconds is not None and self.min_seconds >= self.max_seconds:
            raise SettingError(
                "max_seconds", f"({self.max_seconds}) must be greater than min_seconds ({self.min_seconds})"
            )

        if self.level is not None and self.loudness is not None:
            raise SettingError("loudness", "and level exclude each other: both set how loud a file is")

    def updated(self, values: Mapping[str, Any]) -> Settings:
        """Return a copy with some settings replaced; None values are ignored. Raises SettingError."""
        named = {name: value for name, value in values.items() if value is not None}
        for name, other in (("level", "loudness"), ("loudness", "level")):
            if name in named and other not in named:  # it takes the place of the other, for example of a preset
                named[other] = None
        if "language" in named:
            named["language"] = _language(named["language"])
        if not named:
            return self
        assert named.keys() <= NAMES, f"no settings: {named.keys() - NAMES}"
        # A manifest makes one for each line, and the __init__ of a frozen dataclass takes twice as long as this.
        made = object.__new__(Settings)
        vars(made).update(vars(self), **named)
        made._check(named)
        return made


def _language(written: str) -> str:
    """Normalize a language tag, without region or script. Raises SettingError that suggests a near tag."""
    if (tag := language_tag(written)) is not None:
        return tag
    near = near_tag(written)
    guess = f"; did you mean {near} ({language_name(near)})?" if near else ""
    raise SettingError("language", f"{DECLARED['language'].refusal(written)}{guess}")


def _declared() -> Mapping[str, Declaration]:
    """Return the declarations by name, in order."""
    kinds = get_type_hints(Settings)
    return MappingProxyType(
        {
            one.name: Declaration(kind=_without_none(kinds[one.name]), default=one.default, **one.metadata)
            for one in fields(Settings)
        }
    )


def _without_none(hint: Any) -> type:
    kind: type = next((kind for kind in get_args(hint) if kind is not type(None)), hint)
    return kind


WHOLE = ("level", "loudness")  # settings that need the whole audio: it can't be streamed with them
DECLARED = _declared()
_USUAL = {name: declared.default for name, declared in DECLARED.items()}  # which are allowed
NAMES = frozenset(DECLARED)
DEFAULTS = Settings()
