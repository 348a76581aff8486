"""Tables in text: comma, semicolon, tab or bar between cells, a header row, quotes as spreadsheets write them.

With tabs or bars a quote is a plain character unless its row parses with it: hardly anybody who writes such tables
quotes cells, and dialogue begins with a quote.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from voxcli.errors import InputError, Problem
from voxcli.inputs.columns import Columns, Header
from voxcli.inputs.rows import RawRow, Remarks
from voxcli.inputs.values import MISSING, MISSING_IDS, NUMBERS, decimal_point
from voxcli.terminal import counted

MAX_CELL = 10_000_000  # characters; more is a quote that was never closed
DELIMITERS = "\t;,|"
SAMPLE_ROWS = 100
_SEPARATOR = re.compile(r'"?sep=([^"\n\w ])"?[ \t]*\n', re.IGNORECASE)  # Excel's own line before the header
_NUMBER = re.compile(r"[0-9],[0-9]")
_PAGE = re.compile(r"[0-9ivxlc]{1,5}")
_NAME = re.compile(r"[\w.#-]+")


class Layout(NamedTuple):
    """How a table is written. `start`: where its header begins in the text, in line `line`."""

    delimiter: str
    start: int = 0
    line: int = 1


def find_layout(text: str, columns: Columns, usual: str | None = None) -> Layout | None:
    """The layout of a table; None where the text is none.

    usual: the delimiter that the file's name tells: then it is a table for certain, and this is the likely one.
    """
    start = len(text) - len(text.lstrip("\n"))
    if found := _SEPARATOR.match(text, start):
        return Layout(found[1], found.end(), text.count("\n", 0, found.end()) + 1)
    line = text.count("\n", 0, start) + 1
    end = text.find("\n", start)
    first = text[start : end if end >= 0 else len(text)]
    headers = {delimiter: _cells(first, delimiter) for delimiter in DELIMITERS}
    fitting = [each for each in DELIMITERS if any(columns.field(name) == "text" for name in headers[each])]
    best = max(fitting, key=lambda each: len(headers[each]), default=None)
    if usual is not None:
        if best is None or len(headers[best]) == 1:
            most = max(DELIMITERS, key=lambda each: (len(headers[each]), each == usual))
            best = usual if len(headers[usual]) > 1 or best is not None else most
        return Layout(best, start, line)
    if best is None or not _is_header(headers[best], best, columns) or not text[end:].strip():
        return None
    layout = Layout(best, start, line)
    return layout if _plain(headers[best]) or _is_even(text, layout, len(headers[best])) else None


def is_table(text: str) -> bool:
    """Whether all rows, two or more, have the same cells as the first, with nothing around them: also without a name
    that says which is the text.
    """
    lines = [line for line in text.split("\n", SAMPLE_ROWS)[:SAMPLE_ROWS] if line.strip()]
    return len(lines) > 1 and any(_is_grid(lines, delimiter) for delimiter in "\t;,")


def _is_grid(lines: Sequence[str], delimiter: str) -> bool:
    """Prose has a space or a digit behind a comma, an indent before a line, a page behind a title."""
    if delimiter not in lines[0] or any(_NUMBER.search(line) for line in lines if delimiter == ","):
        return False
    rows = [_cells(line, delimiter) for line in lines]
    widths = {len(cells) for cells in rows}
    if len(widths) > 1 or widths == {1} or not all(cell.strip() for cell in rows[0]):  # 1: delimiters in quotes alone
        return False
    if delimiter == "\t":
        return any(cells[0] for cells in rows[1:]) and not all(_PAGE.fullmatch(cells[-1].strip()) for cells in rows)
    return not any(cell[:1].isspace() or cell[-1:].isspace() for cells in rows for cell in cells)


def _cells(line: str, delimiter: str) -> list[str]:
    """One line, its quotes obeyed where they close."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return line.split(delimiter)


def _is_header(cells: Sequence[str], delimiter: str, columns: Columns) -> bool:
    """Whether it can be nothing else: in prose a comma has a space behind it, and no line names the same twice."""
    names = [cell.strip() for cell in cells]
    if len(names) < 2 or not all(names[1:]) or len({name.casefold() for name in names}) < len(names):
        return False
    if any(len(name) > 64 for name in names):
        return False
    known = all(columns.field(name) for name in names)
    return known or delimiter == "\t" or not any(cell[:1].isspace() for cell in cells)


def _plain(cells: Sequence[str]) -> bool:
    """Single words with nothing between them but the delimiter: no prose is written so."""
    return all(_NAME.fullmatch(cell) for cell in cells if cell)


def _is_even(text: str, layout: Layout, width: int) -> bool:
    """Whether the first rows have as many cells as the header."""
    records = _records(text, layout)
    for (_, cells), _ in zip(records, range(SAMPLE_ROWS), strict=False):
        if isinstance(cells, str) or (len(cells) != width and any(cell.strip() for cell in cells)):
            return False
    return True


def read_table(text: str, layout: Layout, columns: Columns, remarks: Remarks) -> Iterator[RawRow | Problem]:
    """Its rows; a problem ends it where the rest could not be told from it."""
    reader: RowReader | None = None
    tall: list[int] = []
    for line, cells in _records(text, layout, tall):
        if isinstance(cells, str):
            yield Problem(line, cells)
            return
        values = list(map(str.strip, cells))
        if not any(values):
            continue
        if reader is not None:
            yield reader.row(line, values)
            continue
        try:
            reader = RowReader(columns.header(values), layout.delimiter)
        except InputError as error:
            yield Problem(line, str(error))
            return
        remarks.names = reader.header.names
    if tall:
        rows = counted(len(tall), "row")
        remarks.notes.append(f"{rows} with a quoted cell over several lines, the first in line {tall[0]}")


class RowReader:
    """Makes rows of cells. Where semicolons or tabs part them, `2,5` is a number."""

    def __init__(self, header: Header, delimiter: str):
        self.header = header
        self.names = [name for _, name in header.fields]
        self.places = [place for place, _ in header.fields]
        self.in_order = self.places == list(range(len(self.places)))
        self.numbers = [name for name in self.names if name in NUMBERS] if delimiter in ";\t" else []
        self.strict_points = delimiter == ";"

    def row(self, line: int, values: Sequence[str]) -> RawRow | Problem:
        """values: of a row that is not empty, without the space around them."""
        count = len(values)
        if count > self.header.width and any(values[self.header.width :]):
            return Problem(
                line, f"{counted(count, 'cell')}, the header has {self.header.width}: quote a cell with the delimiter"
            )
        if count < self.header.width:
            values = [*values, *[""] * (self.header.width - count)]
        cells = values if self.in_order else [values[place] for place in self.places]
        fields = dict(zip(self.names, cells, strict=False))
        if "" in values or not MISSING.isdisjoint(values):
            fields = {name: cell for name, cell in fields.items() if not _is_missing(name, cell)}
        for name in self.numbers:
            if name in fields:
                try:
                    fields[name] = decimal_point(fields[name], strict=self.strict_points)
                except ValueError as error:
                    return Problem(line, f"{name}: {error}")
        if not self.header.extra:
            return RawRow(line, fields, typed=False)
        extra = {name: values[place] for place, name in self.header.extra if values[place]}
        return RawRow(line, fields, False, extra)


def _is_missing(name: str, cell: str) -> bool:
    """Whether a cell is empty or says "none". A text always counts as given: an empty one is refused by itself."""
    return name != "text" and (not cell or cell in (MISSING_IDS if name == "id" else MISSING))


def _records(text: str, layout: Layout, tall: list[int] | None = None) -> Iterator[tuple[int, Sequence[str]]]:
    """Rows of cells with the line where each begins; last perhaps a string, which says why the rest is not read.

    tall: gets the lines of those that go over several.
    """
    csv.field_size_limit(MAX_CELL)
    tall = [] if tall is None else tall
    return _unquoted(text, layout, tall) if layout.delimiter in "\t|" else _quoted(text, layout, tall)


def _quoted(text: str, layout: Layout, tall: list[int]) -> Iterator[tuple[int, Sequence[str]]]:
    source = io.StringIO(text, newline="")
    source.seek(layout.start)
    reader = csv.reader(source, delimiter=layout.delimiter, strict=True)
    before = layout.line - 1
    line = layout.line
    try:
        for cells in reader:
            following = before + reader.line_num + 1
            if following > line + 1:
                tall.append(line)
            yield line, cells
            line = following
    except csv.Error as error:
        yield line, f"not CSV: {error}"


def _unquoted(text: str, layout: Layout, tall: list[int]) -> Iterator[tuple[int, Sequence[str]]]:
    delimiter = layout.delimiter
    lines = text[layout.start :].split("\n") if layout.start else text.split("\n")
    place, tabs = 0, -1
    while place < len(lines):
        line = lines[place]
        if tabs < 0 and line.strip():
            tabs = line.count(delimiter)
        count = 1
        cells: Sequence[str] | None = None
        if '"' in line:
            count = _quoted_lines(lines, place, delimiter, tabs)
            cells = _parsed(lines[place : place + count], delimiter)
            if cells is None:
                count = 1
        if cells is None:
            cells = line.split(delimiter)
        if len(line) > MAX_CELL and max(map(len, cells)) > MAX_CELL:
            yield layout.line + place, f"a cell of more than {MAX_CELL:,} characters"
            return
        if count > 1:
            tall.append(layout.line + place)
        yield layout.line + place, cells
        place += count


def _quoted_lines(lines: Sequence[str], place: int, delimiter: str, tabs: int) -> int:
    """How many lines the row may have that begins here: to where its quotes are even, but to no line that is a row.

    A line is passed over only when its own quotes are even, and such a line begins no search: the work is linear.
    """
    odd = lines[place].count('"') % 2
    count = 1
    while odd and place + count < len(lines):
        following = lines[place + count]
        if following.count(delimiter) >= tabs:
            return 1
        odd ^= following.count('"') % 2
        count += 1
    return 1 if odd else count


def _parsed(lines: Sequence[str], delimiter: str) -> Sequence[str] | None:
    """The cells of one row with its quotes obeyed; None where that does not work out."""
    try:
        rows = list(csv.reader([line + "\n" for line in lines], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
