"""Values on the command line: parsers with our own messages, and shell completion."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from voxcli.errors import InputError, quoted

Number = TypeVar("Number", int, float)


def number(
    option: str, kind: type[Number], low: float = -math.inf, high: float = math.inf
) -> Callable[[str | Number], Number]:
    """Return a parser for numbers from `low` to `high`. It raises InputError that names the option."""
    wanted = "a whole number" if kind is int else "a number"
    if high < math.inf:
        wanted += f" from {_written(low)} to {_written(high)}"
    elif low > -math.inf:
        wanted += f" of at least {_written(low)}"

    def parse(value: str | Number) -> Number:
        try:
            found = kind(value)
        except ValueError:
            found = None
        if found is None or not low <= found <= high:
            raise InputError(f"{option} must be {wanted}, not {quoted(str(value))}")
        return found

    return parse


def _written(limit: float) -> str:
    """Write a limit with all digits of a whole number."""
    return str(int(limit)) if limit == int(limit) else f"{limit:g}"


def word(option: str, words: str, pattern: re.Pattern[str] | None = None) -> Callable[[str], str]:
    """Return a parser that accepts one of `words`, separated by commas, or if given, matches of `pattern`."""
    known = words.split(", ")

    def parse(value: str) -> str:
        if not (pattern.fullmatch(value) if pattern is not None else value in known):
            raise InputError(f"{option} must be one of {words}, not {quoted(value)}")
        return value

    return parse


def complete(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a completion function; `words` is called only when completion is requested."""

    def completed(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return completed


def preset_words() -> list[str]:
    from voxcli.inputs.presets import preset_names

    return preset_names()


def voice_words() -> list[str]:
    from voxcli.voices.store import voice_names

    return voice_names()


def subtitle_words() -> tuple[str, ...]:
    from voxcli.artifacts.subtitles import KINDS

    return KINDS


def input_words() -> tuple[str, ...]:
    from voxcli.inputs.document import FORMATS

    return FORMATS
