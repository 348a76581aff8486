"""What may be given to the library that reads spreadsheets: parts of known size, tables of a bounded number of cells.

A spreadsheet is a zip archive, which may unpack to anything, and a cell may stand at any place, while the library makes
room for all that lie between. So the parts are unpacked here, within a bound, and their cells counted, before it sees
them in an archive packed anew.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Literal
from xml.parsers import expat

MAX_BYTES = 1 << 28  # of all parts, unpacked
MAX_PARTS = 10_000
MAX_CELLS = 5_000_000  # of the smallest rectangle around all filled cells of a sheet
_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)


class Unreadable(Exception):
    """Why a spreadsheet is not read, in a phrase."""


def repacked(data: bytes, kind: Literal["xlsx", "ods"]) -> bytes:
    """The parts that hold its cells, in an archive of known size. Raises Unreadable."""
    target = io.BytesIO()
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w") as archive:
            parts = source.infolist()
            if len(parts) > MAX_PARTS:
                raise Unreadable(f"it has more than {MAX_PARTS:,} parts")
            if any(part.flag_bits & 1 for part in parts):
                raise Unreadable("it is protected with a password: save it without")
            for part in parts:
                if not part.filename.lower().endswith((".xml", ".rels")) and part.filename != "mimetype":
                    continue  # pictures and the like
                with source.open(part) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise Unreadable(f"it unpacks to more than {MAX_BYTES:,} bytes")
                if kind == "ods" and part.filename == "content.xml":
                    _check_cells(content, _OdsCells())
                elif kind == "xlsx" and _SHEET.fullmatch(part.filename):
                    _check_cells(content, _XlsxCells())
                archive.writestr(part.filename, content)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError) as error:
        raise Unreadable(f"it is damaged ({' '.join(str(error).split())})") from error
    return target.getvalue()


class _Cells:
    """Follows the elements of a sheet and keeps the rectangle of its filled cells."""

    def __init__(self) -> None:
        self.first: tuple[int, int] | None = None
        self.last = (0, 0)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        raise NotImplementedError

    def _fill(self, row: int, column: int) -> None:
        if row < self.last[0]:
            raise Unreadable("it is damaged (its rows are not in order)")
        self.first = (row, column) if self.first is None else (self.first[0], min(self.first[1], column))
        self.last = (row, max(self.last[1], column))
        if (row - self.first[0] + 1) * (self.last[1] - self.first[1] + 1) > MAX_CELLS:
            raise Unreadable(f"one of its sheets is larger than {MAX_CELLS:,} cells")


class _XlsxCells(_Cells):
    def __init__(self) -> None:
        super().__init__()
        self.row = self.column = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            self.row, self.column = _count(attributes.get("r"), self.row + 1), 0
        elif name == "c":
            found = _REFERENCE.fullmatch(attributes.get("r", ""))
            if found:
                self.column = 0
                for letter in found[1].upper():
                    self.column = 26 * self.column + ord(letter) - 64
                self.row = int(found[2])
            else:
                self.column += 1
        elif name in ("v", "is", "f"):
            self._fill(self.row, self.column)

    def end(self, name: str) -> None:
        pass


class _OdsCells(_Cells):
    """A row and a cell may stand for many."""

    def __init__(self) -> None:
        super().__init__()
        self.row = self.column = self.rows = self.columns = 0
        self.filled = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table":
            self.first, self.last, self.row = None, (0, 0), 0
        elif name == "table-row":
            self.column, self.rows = 0, _count(attributes.get("table:number-rows-repeated"), 1)
        elif name in ("table-cell", "covered-table-cell"):
            self.columns = _count(attributes.get("table:number-columns-repeated"), 1)
            self.filled = "office:value-type" in attributes or "table:formula" in attributes
        elif name == "p":
            self.filled = True

    def end(self, name: str) -> None:
        if name in ("table-cell", "covered-table-cell"):
            if self.filled:
                self._fill(self.row + 1, self.column + 1)
                self._fill(self.row + self.rows, self.column + self.columns)
                self.last = (self.row + 1, self.last[1])  # the next cell is in the same rows
            self.column += self.columns
        elif name == "table-row":
            self.row += self.rows


def _count(value: str | None, other: int) -> int:
    return int(value) if value is not None and re.fullmatch(r"[0-9]{1,9}", value) else other


def _check_cells(content: bytes, cells: _Cells) -> None:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise Unreadable("it is damaged (a document type is declared in it)")

    def without_prefix(handle: Callable[..., None]) -> Callable[..., None]:
        return lambda name, *more: handle(name.rpartition(":")[2], *more)

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = without_prefix(cells.start)
    parser.EndElementHandler = without_prefix(cells.end)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Unreadable(f"it is damaged ({error})") from error
