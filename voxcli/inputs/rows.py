"""A manifest's text as raw rows with their line numbers: JSON Lines, a JSON array, CSV, TSV or one text a line.

Knows the formats and none of the fields: a row is a mapping, or the Problem that kept it from being one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, NoReturn

from voxcli.errors import ManifestError, Problem

Format = Literal["jsonl", "json", "csv", "tsv", "text"]

SUFFIXES: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "text",
    ".json": "json",
}
MAX_CELL = 10_000_000  # characters; more is a quote that was never closed
ARRAY = re.compile(r"\s*\[\s*[{\]]")  # of objects, or empty
# What begins in brackets as JSON does, and is no text such as "[1] A footnote." or "[laughs] Hello."
ANY_ARRAY = re.compile(r'\s*\[[\s\[]*(?:[{\]"]|$|(?:-?\d[\d.eE+-]*|true|false|null)\s*(?:,|\]\s*$))')
SPACE = re.compile(r"[ \t\n]*")


class RawRow(NamedTuple):
    """Fields as they stand at `line` (from 1). `typed`: numbers are numbers, as in JSON; else all is text."""

    line: int
    fields: Mapping[str, Any]
    typed: bool = True


def decode(data: bytes, source: str) -> str:
    """UTF-8 with or without BOM, or UTF-16 with one, as spreadsheets save it; line ends become newlines."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ManifestError(source, [Problem(line, "not UTF-8 text; save the file as UTF-8")]) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def detect(source: str, text: str) -> Format:
    """By the file's name, else by how its text begins."""
    known = SUFFIXES.get(PurePath(source).suffix.lower())
    if known == "jsonl":
        return "json" if ARRAY.match(text) else "jsonl"
    if known == "json":
        return "json" if text.lstrip().startswith("[") else "jsonl"
    if known is None:
        if ANY_ARRAY.match(text):
            return "json"
        return "jsonl" if text.lstrip().startswith("{") else "text"
    return known


def read_rows(source: str, text: str) -> Iterator[RawRow | Problem]:
    """All rows in order. `source` names the manifest; its suffix tells the format."""
    match detect(source, text):
        case "jsonl":
            return _json_lines(text)
        case "json":
            return _json_array(text)
        case "csv":
            return _table(text, ";" if _header_has(text, ";") else ",")
        case "tsv":
            return _table(text, "\t")
        case "text":
            return _lines(text)


def _lines(text: str) -> Iterator[RawRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield RawRow(number, {"text": line.strip()})


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number JSON knows")


DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _json_lines(text: str) -> Iterator[RawRow | Problem]:
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            value, end = DECODER.raw_decode(line)
            if end < len(line):
                raise json.JSONDecodeError("Extra data", line, len(line) - len(line[end:].lstrip()))
            yield _object(number, value, line)
        except (ValueError, RecursionError) as error:
            yield Problem(number, f"not JSON: {_reason(error)}")


def _json_array(text: str) -> Iterator[RawRow | Problem]:
    position, line, counted = text.index("[") + 1, 1, 0
    while True:
        position = SPACE.match(text, position).end()  # type: ignore[union-attr]
        line, counted = line + text.count("\n", counted, position), position
        if text.startswith("]", position):
            break
        try:
            value, end = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            yield Problem(at, f"not JSON: {_reason(error)}")
            return
        yield _object(line, value, text[position:end])
        position = SPACE.match(text, end).end()  # type: ignore[union-attr]
        if text.startswith(",", position):
            position += 1
        elif not text.startswith("]", position):
            yield Problem(text.count("\n", 0, position) + 1, "not JSON: a comma or the closing ] is missing")
            return
    rest = SPACE.match(text, position + 1).end()  # type: ignore[union-attr]
    if rest < len(text):
        yield Problem(text.count("\n", 0, rest) + 1, "text after the end of the JSON array")


def _object(line: int, value: object, source: str) -> RawRow | Problem:
    if not isinstance(value, dict):
        return Problem(line, f'expected a JSON object like {{"text": "..."}}, not {type(value).__name__}')
    if "\\u" in source and any("\ud800" <= char <= "\udfff" for char in json.dumps(value, ensure_ascii=False)):
        return Problem(line, "half of a surrogate pair (\\ud800 to \\udfff) is no character")
    if None in value.values():
        value = {name: content for name, content in value.items() if content is not None}
    return RawRow(line, value)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _header_has(text: str, delimiter: str) -> bool:
    header = text.lstrip("\n").split("\n", 1)[0]
    return header.count(delimiter) > header.count(",")


def _table(text: str, delimiter: str) -> Iterator[RawRow | Problem]:
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            line, start = reader.line_num + 1, line
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                doubled = {name for name in header if name and header.count(name) > 1}
                if doubled:
                    yield Problem(start, f"column {sorted(doubled)[0]!r} stands twice in the header")
                continue
            if any(cell.strip() for cell in cells[len(header) :]):
                yield Problem(start, f"{len(cells)} cells, the header has {len(header)}")
                continue
            pairs = zip(header, cells, strict=False)
            yield RawRow(start, {name: cell.strip() for name, cell in pairs if cell.strip()}, typed=False)
    except csv.Error as error:
        yield Problem(line, f"not {'TSV' if delimiter == chr(9) else 'CSV'}: {error}")
