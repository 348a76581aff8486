"""The errors a person can cause or meet, each with its exit code.

VoxError                    1  anything below; its message is one line and says what to do next
 +- InputError              2  text, flags, manifest or audio that can't be used
 |   +- AudioError          2  a voice file that can't be read or is unusable
 |   +- ManifestError       2  problems of a manifest, each with its line number
 |   +- RequestError        2  a request the engine can't run (too long, duplicate id, bad setting)
 +- ModelError              3  no usable model
 |   +- ModelNotFound       3  nothing at that path, or not in the local cache
 |   +- CheckpointError     3  a folder that is there but incomplete, foreign or damaged
 |   +- DeviceError         3  the device, dtype or backend asked for is not to be had, or no longer works
 +- OutputError             1  a file or folder that can't be written
 +- SynthesisError          1  the engine ran and failed

This module is a leaf: it imports nothing of the project and nothing heavy.
"""

from __future__ import annotations

__all__ = [
    "AudioError",
    "CheckpointError",
    "DeviceError",
    "InputError",
    "ManifestError",
    "ModelError",
    "ModelNotFound",
    "OutputError",
    "Problem",
    "RequestError",
    "SynthesisError",
    "VoxError",
    "in_one_line",
    "quoted",
    "shortened",
]

from dataclasses import dataclass
from pathlib import Path

MAX_QUOTED = 80  # characters of a value in a message
MAX_PATH = 240  # ... and of a path, which people copy
MAX_MESSAGE = 600  # characters of a message, whatever is quoted in it


def shortened(text: object, limit: int = MAX_QUOTED) -> str:
    """The text, its middle left out where it is longer than `limit` characters.

    >>> shortened("a" * 10 + "b" * 10, 9)
    'aaa...bbb'
    """
    text = str(text)
    if len(text) <= limit:
        return text
    kept = limit - len("...")
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"


def quoted(value: object) -> str:
    """A value as messages quote it: as Python writes it, and at most MAX_QUOTED characters of it, MAX_PATH of a path.

    >>> quoted("a.wav")
    "'a.wav'"
    """
    limit = MAX_PATH if isinstance(value, Path) else MAX_QUOTED
    try:
        return shortened(repr(shortened(value, limit) if isinstance(value, str | Path) else value), limit)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return f"a {type(value).__name__} too large to show"


class VoxError(Exception):
    """Base of all errors meant for people: `str(error)` is one line, with at most MAX_MESSAGE characters.

    A value is cut where it is quoted (`quoted`). What is longer all the same, such as an endless path, is cut here.
    """

    exit_code = 1

    def __init__(self, message: object = ""):
        super().__init__(shortened(message, MAX_MESSAGE))


class InputError(VoxError):
    """What the person gave can't be used."""

    exit_code = 2


class AudioError(InputError):
    """A voice file can't be read or is unusable; the message names the file and the reason."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a manifest. `line` counts from 1; 0 means the file as a whole."""

    line: int
    message: str

    def __str__(self) -> str:
        message = shortened(self.message, MAX_MESSAGE)
        return f"line {self.line}: {message}" if self.line else message


class ManifestError(InputError):
    """A manifest with problems; all of them, in line order."""

    def __init__(self, source: str, problems: list[Problem]):
        self.source = source
        self.problems = problems
        count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(
            f"{source}: {count}, first: {problems[0]}" if len(problems) > 1 else f"{source}: {problems[0]}"
        )


class RequestError(InputError):
    """The engine refuses a request before running it."""


class ModelError(VoxError):
    """No usable model."""

    exit_code = 3


class ModelNotFound(ModelError):
    """There is no checkpoint where the person pointed."""


class CheckpointError(ModelError):
    """A checkpoint is incomplete, damaged or of another architecture; the message names the part."""


class DeviceError(ModelError):
    """The device, dtype or backend asked for is not to be had on this machine, or the device no longer works."""


class OutputError(VoxError):
    """A file or folder can't be written."""


class SynthesisError(VoxError):
    """The engine ran and could not produce the clip."""


def in_one_line(error: Exception) -> str:
    """The kind of an unforeseen error and what it says."""
    text = shortened(" ".join(str(error).split()), MAX_MESSAGE)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
