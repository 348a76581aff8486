from __future__ import annotations

import doctest

import pytest

from voxcli import errors
from voxcli.errors import AudioError, SynthesisError, as_vox_error, in_one_line, reason_of


class LibraryError(Exception):
    """Like an error of soundfile, whose text has a prefix."""

    def __init__(self) -> None:
        super().__init__("Error opening 'a.wav': Format not recognised.")
        self.error_string = "Format not recognised."


@pytest.mark.parametrize(
    ("error", "line", "reason"),
    [
        (ValueError(), "ValueError", "ValueError"),
        (ValueError(" \n "), "ValueError", "ValueError"),
        (ValueError("no room."), "ValueError: no room.", "no room"),
        (ValueError("no  room\n\tat all\r\n"), "ValueError: no room at all", "no room at all"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt"),
        (LibraryError(), "LibraryError: Format not recognised.", "Format not recognised"),
    ],
)
def test_an_error_in_one_line(error: BaseException, line: str, reason: str) -> None:
    assert in_one_line(error) == line
    assert reason_of(error) == reason


def test_only_the_first_line_of_a_message() -> None:
    error = RuntimeError("\n  Weights only load failed.\nRead the documentation, which is long.")
    assert reason_of(error, first_line=True) == "Weights only load failed"
    assert reason_of(RuntimeError("  \n"), first_line=True) == "RuntimeError"


def test_a_long_message_is_truncated() -> None:
    assert len(reason_of(ValueError("x" * 10_000))) == errors.MAX_MESSAGE


def test_any_error_is_converted_to_one_for_users() -> None:
    known = AudioError("a.wav: the file is empty")
    assert as_vox_error(known) is known
    unexpected = as_vox_error(ZeroDivisionError("division\nby zero"))
    assert type(unexpected) is SynthesisError
    assert str(unexpected) == "unexpected ZeroDivisionError: division by zero"


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(errors) == doctest.TestResults(failed=0, attempted=3)
