"""Which parts of a spreadsheet the library that reads it gets, and how much they may hold.

A spreadsheet is an archive of XML, and both may stand for far more than they are: a part may unpack to anything, and
few cells may need the room of many (`sheetcount`). So the parts are unpacked here, within a bound, and counted. The
library gets these and no others, in an archive packed anew.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Literal

from voxcli.errors import reason_of
from voxcli.inputs.sheetcount import (
    Budget,
    ElementHandler,
    OdsTables,
    SharedStrings,
    SheetReferences,
    Unreadable,
    XlsxCells,
    parse,
)
from voxcli.inputs.signatures import MAX_PARTS, too_many_parts

Kind = Literal["xlsx", "ods"]
MAX_BYTES = 1 << 27  # of all parts, unpacked
_ODS_PARTS = frozenset({"mimetype", "content.xml", "META-INF/manifest.xml"})
_USUAL = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})  # others may need any memory to unpack


def repacked(data: bytes, kind: Kind, budget: Budget | None = None) -> bytes:
    """The parts that hold its cells, in an archive of known size. Raises Unreadable."""
    target = io.BytesIO()
    budget, strings = budget or Budget(), SharedStrings()
    if too_many_parts(data):
        raise Unreadable(f"it has more than {MAX_PARTS:,} parts")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w") as archive:
            for name, content in _unpacked(source, kind):
                for handler in _handlers(name, kind, budget, strings):
                    parse(content, handler)
                archive.writestr(name, content)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError) as error:
        raise Unreadable(f"it is damaged ({reason_of(error)})") from error
    return target.getvalue()


def _handlers(name: str, kind: Kind, budget: Budget, strings: SharedStrings) -> Iterator[ElementHandler]:
    if kind == "ods":
        if name != "mimetype":
            yield OdsTables(budget)
        return
    if _has_strings(name):
        yield strings
    elif name.lower().endswith(("workbook.xml", "workbook.xml.rels")):
        yield SheetReferences()
    yield XlsxCells(budget, strings)  # the workbook may declare any part as a sheet


def _unpacked(source: zipfile.ZipFile, kind: Kind) -> Iterator[tuple[str, bytes]]:
    """The parts that are read, the one of the shared strings before all that may refer to it."""
    parts = [part for part in source.infolist() if _is_read(part.filename, kind)]
    parts.sort(key=lambda part: not _has_strings(part.filename))
    if (
        len({part.filename.lower() for part in parts}) < len(parts)
        or sum(_has_strings(part.filename) for part in parts) > 1
    ):
        raise Unreadable("it is damaged (two parts have one name)")
    if any(part.flag_bits & 1 for part in parts):
        raise Unreadable("it is protected with a password: save it without")
    left = MAX_BYTES
    for part in parts:
        if part.compress_type not in _USUAL:
            raise Unreadable("it is damaged (packed in a way that spreadsheets are not)")
        with source.open(part) as file:
            content = file.read(left + 1)
        left -= len(content)
        if left < 0:
            raise Unreadable(f"it unpacks to more than {MAX_BYTES:,} bytes")
        yield part.filename, content


def _is_read(name: str, kind: Kind) -> bool:
    """Not those of pictures and the like, nor those that would make it a spreadsheet of another kind."""
    if kind == "ods":
        return name in _ODS_PARTS
    return name.lower().endswith((".xml", ".rels"))


def _has_strings(name: str) -> bool:
    return name.lower().endswith("sharedstrings.xml")
