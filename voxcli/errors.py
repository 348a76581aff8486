"""The errors shown to users, each with an exit code.

VoxError                    1  anything below; its message is one line and says what to do next
 +- InputError              2  text, flags, manifest or audio that can't be used
 |   +- AudioError          2  a voice file that can't be read or is unusable
 |   +- MissingExtra        2  an optional package that is needed and not installed
 |   +- ManifestError       2  problems of a manifest, each with its line number
 |   +- RequestError        2  a request the engine can't run (too long, duplicate id, bad setting)
 +- ModelError              3  no usable model
 |   +- ModelNotFound       3  nothing at that path, or not in the local cache
 |   +- CheckpointError     3  a folder that exists but is incomplete, foreign or damaged
 |   +- DeviceError         3  the requested device, dtype or backend is unavailable, or no longer works
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
    "MissingExtra",
    "ModelError",
    "ModelNotFound",
    "OutputError",
    "Problem",
    "RequestError",
    "SynthesisError",
    "VoxError",
    "as_vox_error",
    "in_one_line",
    "quoted",
    "reason_of",
    "shortened",
]

from dataclasses import dataclass
from pathlib import Path

MAX_QUOTED = 80  # characters of a value in a message
MAX_PATH = 240  # characters of a path in a message; longer, because people copy paths
MAX_MESSAGE = 600  # characters of a whole message


def shortened(text: object, limit: int = MAX_QUOTED) -> str:
    """Return a text with its middle replaced by "..." if it is longer than `limit` characters.

    >>> shortened("a" * 10 + "b" * 10, 9)
    'aaa...bbb'
    """
    text = str(text)
    if len(text) <= limit:
        return text
    kept = limit - len("...")
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"


def quoted(value: object) -> str:
    """Quote a value for a message: its repr, of at most MAX_QUOTED characters, or MAX_PATH for a path.

    >>> quoted("a.wav")
    "'a.wav'"
    """
    limit = MAX_PATH if isinstance(value, Path) else MAX_QUOTED
    try:
        return shortened(repr(shortened(value, limit) if isinstance(value, str | Path) else value), limit)
    except ValueError:  # Python does not format integers of more than 4,300 digits
        return f"a {type(value).__name__} too large to show"


class VoxError(Exception):
    """Base of all errors meant for people: `str(error)` is one line of at most MAX_MESSAGE characters.

    Values are shortened by `quoted`. Anything else that is too long is shortened here.
    """

    exit_code = 1

    def __init__(self, message: object = ""):
        super().__init__(shortened(message, MAX_MESSAGE))


class InputError(VoxError):
    """The user's input can't be used."""

    exit_code = 2


class AudioError(InputError):
    """A voice file can't be read or is unusable; the message names the file and the reason."""


class MissingExtra(InputError):
    """A package of an extra is not installed; the message has the command that installs it."""


@dataclass(frozen=True)
class Problem:
    """A problem in a manifest. `line` counts from 1; 0 is the whole file."""

    line: int
    message: str

    def __str__(self) -> str:
        message = shortened(self.message, MAX_MESSAGE)
        return f"line {self.line}: {message}" if self.line else message


class ManifestError(InputError):
    """A manifest has problems; contains all of them, in line order."""

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
    """There is no checkpoint at the given place."""


class CheckpointError(ModelError):
    """A checkpoint is incomplete, damaged or of another architecture; the message names the part."""


class DeviceError(ModelError):
    """The requested device, dtype or backend is unavailable on this machine, or the device no longer works."""


class OutputError(VoxError):
    """A file or folder can't be written."""


class SynthesisError(VoxError):
    """The engine ran and could not produce the clip."""


def in_one_line(error: BaseException) -> str:
    """Describe an unexpected error in one line: its type and message.

    >>> in_one_line(ValueError("a  message\\nof two lines"))
    'ValueError: a message of two lines'
    """
    text = _message(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def reason_of(error: BaseException, *, first_line: bool = False) -> str:
    """Return an error's message for use inside another: one line without a full stop, or its type if it is empty.

    first_line: omit all other lines, as torch and the hub explain at length.
    """
    return _message(error, first_line=first_line).rstrip(".") or type(error).__name__


def _message(error: BaseException, *, first_line: bool = False) -> str:
    text = str(getattr(error, "error_string", None) or error)  # libsndfile's own words, without a prefix
    if first_line:
        text = text.strip().partition("\n")[0]
    return shortened(" ".join(text.split()), MAX_MESSAGE)


def as_vox_error(error: Exception) -> VoxError:
    """Return the error itself if it is meant for people, else one that reports it as unexpected."""
    return error if isinstance(error, VoxError) else SynthesisError(f"unexpected {in_one_line(error)}")
