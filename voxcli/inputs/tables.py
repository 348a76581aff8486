"""Read text tables: cells separated by comma, semicolon, tab or bar, a header row, quoting as in spreadsheets.

With tabs or bars a quote is a plain character unless its row parses with it: such tables rarely quote cells, and
dialogue begins with a quote.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from voxcli.errors import InputError, Problem
from voxcli.inputs.columns import Columns, Header
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.values import MISSING, MISSING_IDS, NUMBERS, decimal_point
from voxcli.terminal import counted

MAX_CELL = 10_000_000  # characters; more is a quote that was never closed
DELIMITERS = "\t;,|"
SAMPLE_ROWS = 100
_SEPARATOR = re.compile(r'"?sep=([^"\n\w ])"?[ \t]*\n', re.IGNORECASE)  # a line of Excel before the header
_NUMBER = re.compile(r"[0-9],[0-9]")
_PAGE = re.compile(r"[0-9ivxlc]{1,5}")
_NAME = re.compile(r"[\w.#-]+")


class Layout(NamedTuple):
    """The form of a table. start: index of its header in the text.  line: its line number."""

    delimiter: str
    start: int = 0
    line: int = 1


def find_layout(text: str, columns: Columns, usual: str | None = None) -> Layout | None:
    """Return the layout of a table; None if the text is not a table.

    usual: the delimiter that the file name implies. The text is then always a table, probably with this delimiter.
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
            widest = max(DELIMITERS, key=lambda each: (len(headers[each]), each == usual))
            best = usual if len(headers[usual]) > 1 or best is not None else widest
        return Layout(best, start, line)
    if best is None or not _is_header(headers[best], best, columns) or not text[end:].strip():
        return None
    layout = Layout(best, start, line)
    return layout if _plain(headers[best]) or _is_even(text, layout, len(headers[best])) else None


def is_table(text: str) -> bool:
    """Whether a text is a table without a text column: two or more rows with the same number of cells, unpadded."""
    lines = [line for line in text.split("\n", SAMPLE_ROWS)[:SAMPLE_ROWS] if line.strip()]
    return len(lines) > 1 and any(_is_grid(lines, delimiter) for delimiter in "\t;,")


def _is_grid(lines: Sequence[str], delimiter: str) -> bool:
    """Exclude prose: a space or a digit after a comma, a tab as an indent, a page number after a title."""
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
    """Split one line. Quotes count if they are closed."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return line.split(delimiter)


def _is_header(cells: Sequence[str], delimiter: str, columns: Columns) -> bool:
    """Whether a line is certainly a header: in prose a space follows a comma. Its names are short and unique."""
    names = [cell.strip() for cell in cells]
    if len(names) < 2 or not all(names[1:]) or len({name.casefold() for name in names}) < len(names):
        return False
    if any(len(name) > 64 for name in names):
        return False
    known = all(columns.field(name) for name in names)
    return known or delimiter == "\t" or not any(cell[:1].isspace() for cell in cells)


def _plain(cells: Sequence[str]) -> bool:
    """Whether all cells are single words: no prose is written so."""
    return all(_NAME.fullmatch(cell) for cell in cells if cell)


def _is_even(text: str, layout: Layout, width: int) -> bool:
    """Whether the first rows have the same number of cells as the header."""
    records = _records(text, layout)
    for (_, cells), _ in zip(records, range(SAMPLE_ROWS), strict=False):
        if isinstance(cells, str) or (len(cells) != width and any(cell.strip() for cell in cells)):
            return False
    return True


def read_table(text: str, layout: Layout, columns: Columns, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Yield the rows of a table. The last may be a Problem, if what follows can't be separated from it."""
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
    """Make rows of cells. If semicolons or tabs separate them, `2,5` is a number."""

    def __init__(self, header: Header, delimiter: str):
        self.header = header
        self.names = [name for _, name in header.fields]
        self.places = [place for place, _ in header.fields]
        self.in_order = self.places == list(range(len(self.places)))
        self.numbers = [name for name in self.names if name in NUMBERS] if delimiter in ";\t" else []
        self.strict_points = delimiter == ";"

    def row(self, line: int, values: Sequence[str]) -> InputRow | Problem:
        """Return a row. values: its stripped cells, at least one of them not empty."""
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
            return InputRow(line, fields, typed=False)
        extra = {name: values[place] for place, name in self.header.extra if values[place]}
        return InputRow(line, fields, False, extra)


def _is_missing(name: str, cell: str) -> bool:
    """Whether a cell stands for no value. A text is never missing: an empty one is refused by itself."""
    return name != "text" and (not cell or cell in (MISSING_IDS if name == "id" else MISSING))


def _records(text: str, layout: Layout, tall: list[int] | None = None) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield rows of cells, each with its line. The last may be a string: the reason why the rest is not read.

    tall: gets the lines of rows that span several.
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
    """Return the number of lines of a row: up to where its quotes are even, but not across a line that is a row.

    Only lines with even quotes are passed over, and these begin no search: the work is linear.
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
    """Return the cells of one row by the rules of quoting; None if it does not follow them."""
    try:
        rows = list(csv.reader([line + "\n" for line in lines], delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None
