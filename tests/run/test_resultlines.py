"""Which lines of results.jsonl are read as results, also in files that were edited, and which of them are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from voxcli.jobs.result import Cue, Result
from voxcli.run.resultlines import BOM, kept_lines, read_lines, read_result

OK = Result("a", "a.wav", "Say a.", "ok", 1.6, 0.8, 0.5, 10, "stop", 7, 1, 48_000)
FAILED = Result("a", "a.wav", "Say a.", "failed", error="no such file")


def line(result: Result, **changes: Any) -> bytes:
    return json.dumps(vars(replace(result, **changes)), ensure_ascii=False).encode()


def kept(content: bytes) -> bytes:
    return kept_lines(list(read_lines(content)))


def file(*lines: bytes) -> bytes:
    return b"".join(each + b"\n" for each in lines)


def test_a_line_is_read_as_it_was_written() -> None:
    result = replace(
        OK, warnings=("cut off",), sha256="ab", exact=True, fingerprint={"seed": None}, cues=(Cue(0.0, 1.6, "a"),)
    )
    assert read_result(line(result)) == result


@pytest.mark.parametrize(
    "other",
    [
        b"[]",
        b"7",
        b"null",
        b"epoch 3, loss 0.1",
        b'{"id": "a"}',
        b'{"id": "a", "text": "A line of a manifest."}',
        b'{"epoch": 3, "loss": 0.1}',
        b"\xff\xfe",
        b"[" * 100_000,
        line(OK)[:-1],
        line(OK) + line(OK, id="b"),
    ],
)
def test_what_is_no_result_stays_as_it_is(other: bytes) -> None:
    assert read_result(other) is None
    content = file(line(OK), other, b"  " + other + b" \r", line(OK, id="b"))
    assert kept(content) == content


def test_of_an_id_the_last_line_is_kept() -> None:
    lines = [line(OK), line(OK, id="b"), line(OK, seed=8)]
    assert kept(file(*lines)) == file(lines[1], lines[2])


def test_a_failure_does_not_take_away_the_line_that_was_ok() -> None:
    lines = [line(OK), line(OK, id="b"), line(FAILED), line(FAILED, id="c"), line(FAILED, error="no space")]
    assert kept(file(*lines)) == file(lines[0], lines[1], lines[3], lines[4])
    assert kept(file(*lines, line(OK, seed=8))) == file(lines[1], lines[3], line(OK, seed=8))


EDITED = {
    "as on Windows": lambda lines: b"\r\n".join(lines) + b"\r\n",
    "as on Windows, without a last end": lambda lines: b"\r\n".join(lines),
    "without a last end": lambda lines: b"\n".join(lines),
    "a space and no last end": lambda lines: b"\n".join([lines[0], lines[1] + b" "]),
    "spaces at the ends": lambda lines: b" \t\n".join(lines),
    "empty lines between": lambda lines: b"\n\n \n".join(lines),
    "with a mark in front": lambda lines: BOM + b"\n".join(lines),
}


@pytest.mark.parametrize("editor", EDITED)
def test_an_editor_loses_no_line(editor: str) -> None:
    lines = [line(OK), line(FAILED, id="b")]
    assert kept(EDITED[editor](lines)) == file(*lines)


WHOLE = line(OK, id='b "quoted", \\')


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_line_that_a_crash_tore_is_dropped(length: int) -> None:
    assert kept(file(line(OK)) + WHOLE[:length]) == file(line(OK))
    assert kept(file(line(OK)) + WHOLE[:length] + b"\0" * 7) == file(line(OK))


def test_a_line_of_many_megabytes_takes_no_time() -> None:
    """A line of another program: no id is this long."""
    other = b'{"id": "' + b"x" * (1 << 24)
    assert kept(file(line(OK)) + other) == file(line(OK), other)


def test_a_line_that_lacks_its_end_alone_is_whole() -> None:
    assert kept(file(line(OK)) + WHOLE) == file(line(OK), WHOLE)


@pytest.mark.parametrize(
    "last",
    [
        b'{"id": "b", "text": "A line of a mani',
        b'{"id": "b", "text": "A line of a manifest."}',
        b'{"id": "b", "out": "b.wav", "text": "Another."}',
        b'{"epoch": 3, "lo',
        b"\x80",
        b"7",
    ],
)
def test_what_another_program_has_not_ended_stays(last: bytes) -> None:
    assert kept(file(line(OK)) + last) == file(line(OK), last)
