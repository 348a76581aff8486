"""Read the text of a manifest as rows with line numbers: JSON Lines, JSON, or one text per line.

This module knows the formats but no fields: a row is a mapping, or a Problem.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from voxcli.errors import Problem, quoted

_BROKEN_WORD = re.compile(r"[^\W\d_]-[ \t]*\n[ \t]*[^\W\d_A-Z]")
SPACE = re.compile(r"[ \t\n]*")
NOTHING: Mapping[str, Any] = {}


class InputRow(NamedTuple):
    """The fields at `line` (from 1), unchecked as a reader yields them.

    typed:      values have types, as in JSON; else all are text.
    extra:      names known to be no field. `fields` may hold more of them if its names have not been checked.
    character:  of a cast, who speaks it; empty without one.
    """

    line: int
    fields: Mapping[str, Any]
    typed: bool = True
    extra: Mapping[str, Any] = NOTHING
    character: str = ""


class Remarks:
    """What a reader reports about a file besides its rows.

    left_out: count of parts that are not spoken, by kind ("comment line", "code block").
    names:    of the columns of a table.
    notes:    anything else, a phrase each.
    """

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self.names: tuple[str, ...] = ()
        self.notes: list[str] = []


def read_lines(text: str, remarks: Remarks) -> Iterator[InputRow]:
    """Read plain text: a row for each line that is not blank. A comment begins with `#` and a space."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#") and not line[1:2].strip():
            remarks.left_out["comment line"] += 1
        elif line := line.strip():
            yield InputRow(number, {"text": line})
    if broken := len(_BROKEN_WORD.findall(text)):
        lines = "1 line ends" if broken == 1 else f"{broken} lines end"
        remarks.notes.append(f"{lines} inside a word: `voxcpm2 synth --file` joins the lines of a wrapped text")


def _constant(name: str) -> None:
    """Accept NaN, which programs write for a missing value. JSON has no infinite numbers."""
    if name != "NaN":
        raise ValueError(f"{name} is not a number JSON knows")


DECODER = json.JSONDecoder(parse_constant=_constant)


def read_json_lines(text: str, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Read JSON Lines: a row for each line. Lines that begin with `#` are comments."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line:
            continue
        if line.startswith("#"):
            remarks.left_out["comment line"] += 1
            continue
        try:
            value, end = DECODER.raw_decode(line)
            if end < len(line):
                raise json.JSONDecodeError("Extra data", line, len(line) - len(line[end:].lstrip()))
            yield _object(number, value, line)
        except (ValueError, RecursionError) as error:
            yield Problem(number, f"not JSON: {_reason(error)}")


def read_json(text: str, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Read a JSON array of objects, or a sequence of objects. Each may span several lines."""
    position, line, counted = SPACE.match(text, 0).end(), 1, 0  # type: ignore[union-attr]
    array = text.startswith("[", position)
    position += array
    while True:
        position = SPACE.match(text, position).end()  # type: ignore[union-attr]
        line, counted = line + text.count("\n", counted, position), position
        if text.startswith("]", position) if array else position == len(text):
            break
        try:
            value, end = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            yield Problem(at, f"not JSON: {_reason(error)}")
            return
        yield _object(line, value, text[position:end])
        position = SPACE.match(text, end).end()  # type: ignore[union-attr]
        if not array:
            continue
        if text.startswith(",", position):
            position += 1
        elif not text.startswith("]", position):
            yield Problem(text.count("\n", 0, position) + 1, "not JSON: a comma or the closing ] is missing")
            return
    rest = SPACE.match(text, position + array).end()  # type: ignore[union-attr]
    if rest < len(text):
        yield Problem(text.count("\n", 0, rest) + 1, "text after the end of the JSON array")


def row_of(line: int, value: object) -> InputRow | Problem:
    """Return a row that a program gives instead of a file."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return Problem(line, f'expected a mapping like {{"text": "..."}}, not {quoted(value)}')
    return InputRow(line, value)


def _object(line: int, value: object, source: str) -> InputRow | Problem:
    if not isinstance(value, dict):
        return Problem(line, f'expected a JSON object like {{"text": "..."}}, not {type(value).__name__}')
    if "\\u" in source and any("\ud800" <= char <= "\udfff" for char in json.dumps(value, ensure_ascii=False)):
        return Problem(line, "half of a surrogate pair (\\ud800 to \\udfff) is no character")
    return InputRow(line, value)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
