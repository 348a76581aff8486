"""Parse the lines of results.jsonl: which of them are results, and which results still count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from voxcli.jobs.result import Result

RESULT = TypeAdapter(Result)
BOM = b"\xef\xbb\xbf"  # some editors put it at the start of a file
# The beginning of every line that this program writes; it identifies a line that was only partly written.
HEAD, NEXT = b'{"id": "', b'", "out": '
HEAD_AND_ID = re.compile(re.escape(HEAD) + rb'(?:[^"\\]|\\.)*\\?', re.DOTALL)
MAX_HEAD_BYTES = 4096  # enough for an id, which has at most 200 characters


@dataclass(frozen=True)
class Line:
    """A line of the file. content: without the newline.  result: the parsed result; None if it is not one."""

    content: bytes
    result: Result | None


def read_lines(content: bytes) -> Iterator[Line]:
    """Yield the lines of a file that are not empty. A partly written last line is left out."""
    *whole, last = content.split(b"\n")
    for segment in (*whole, *([] if _is_torn(last) else [last])):
        if text := segment.removeprefix(BOM).strip():  # an editor may add spaces or carriage returns
            result = read_result(text)
            yield Line(segment if result is None else text, result)


def kept_lines(lines: Sequence[Line]) -> bytes:
    """Return the file's content without superseded lines.

    Of each take, the last result and the last successful result are kept. Lines that are not results are kept
    unchanged.
    """
    last: dict[str, int] = {}
    good: dict[str, int] = {}
    for place, line in enumerate(lines):
        if line.result is not None:
            last[line.result.key] = place
            if line.result.ok:
                good[line.result.key] = place
    kept = {*last.values(), *good.values()}
    return b"".join(line.content + b"\n" for place, line in enumerate(lines) if line.result is None or place in kept)


def read_result(text: bytes) -> Result | None:
    """Parse a line. Returns None if it is not a valid result: lines may come from editors or other programs."""
    with suppress(ValueError, RecursionError):
        result = RESULT.validate_json(text, strict=True)  # the types' own setting does not reach shared ones
        return result if result.finished is None or _is_time(result.finished) else None
    return None


def _is_torn(line: bytes) -> bool:
    """True if a last line without a newline is a partly written result or zeros, as a power cut leaves them."""
    text = line.rstrip(b"\0")
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return False
    begun = HEAD_AND_ID.match(text[:MAX_HEAD_BYTES])
    if begun is None:
        return HEAD.startswith(text)
    rest = text[begun.end() :]
    return rest.startswith(NEXT) or NEXT.startswith(rest)


def _is_time(value: str) -> bool:
    with suppress(ValueError, OverflowError, OSError):
        datetime.fromisoformat(value).timestamp()
        return True
    return False
