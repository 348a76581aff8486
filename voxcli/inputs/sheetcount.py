"""How much room the cells of a spreadsheet take once they are read: of all its sheets together, and bounded.

The library that reads them (calamine) makes room for every cell between the first and the last, gives each cell a copy
of its text, though many may share one that is stored once, and obeys what says "the same again". So these are followed
as it follows them, and whatever it could understand otherwise is refused: numbers written in an unusual way, tables,
rows or cells within one another. Room is counted from cell A1, which is more than is needed.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import ClassVar
from xml.parsers import expat

MAX_CELLS = 5_000_000
MAX_CHARACTERS = 1 << 26  # of the texts of all cells
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_ROW = re.compile(r"[1-9][0-9]{0,6}")
_PLACE = re.compile(r"([A-Za-z]{1,3})([1-9][0-9]{0,6})")


class Unreadable(Exception):
    """The reason why a spreadsheet is not read, as a phrase."""


class Budget:
    """The room that is left for the sheets of a workbook."""

    def __init__(self) -> None:
        self.cells = MAX_CELLS
        self.characters = MAX_CHARACTERS

    def take_cells(self, count: int) -> None:
        self.cells -= count
        if self.cells < 0:
            raise Unreadable(f"its sheets are larger than {MAX_CELLS:,} cells")

    def take_text(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise Unreadable(f"its cells hold more than {MAX_CHARACTERS:,} characters")


class ElementHandler:
    """Gets the elements of a part, by their names without prefix.

    LEVELS: the elements that have a place, from the outermost; one is never within its like, nor any outside the first.
    """

    LEVELS: ClassVar[Mapping[str, int]]

    def __init__(self) -> None:
        self.level = 0
        self._above: list[int] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        level = self.LEVELS.get(name)
        if level is None:
            if self.level:
                self.inside(name, attributes)
        elif level <= self.level:
            raise Unreadable(f"it is damaged ({name} within another)")
        elif level == 1 or self.level:
            self._above.append(self.level)
            self.level = level
            self.opened(name, attributes)

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if self.level and self.LEVELS.get(name) == self.level:
            self.closed(name)
            self.level = self._above.pop()
        elif self.level:
            self.left()

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def closed(self, name: str) -> None:
        """It ends."""

    def inside(self, name: str, attributes: dict[str, str]) -> None:
        """Another element begins somewhere within those of LEVELS."""

    def left(self) -> None:
        """Such a one ends."""

    def text(self, data: str) -> None:
        """Text, wherever it is."""


def parse(content: bytes, handler: ElementHandler) -> None:
    """Raises Unreadable for what is not XML in UTF-8, and for a document type, which could define more."""
    if b"\0" in content:  # UTF-16: its mark overrides any declared encoding, and a reader of bytes may see other XML
        raise Unreadable("it is damaged (it is not UTF-8)")
    parser = expat.ParserCreate("utf-8")

    def refuse(*_: object) -> None:
        raise Unreadable("it is damaged (a document type is declared in it)")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Unreadable(f"it is damaged ({error})") from error


class SharedStrings(ElementHandler):
    """The lengths of the texts that cells of an .xlsx file refer to by number."""

    LEVELS: ClassVar = {"sst": 1, "si": 2}

    def __init__(self) -> None:
        super().__init__()
        self.lengths = array("Q")
        self._length = 0
        self._seen = False

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self._length = 0
        if name == "sst":
            if self._seen:
                raise Unreadable("it is damaged (two lists of shared texts)")
            self._seen = True
            # the library allocates as many as the file declares
            if _number(attributes.get("uniqueCount", "0")) > MAX_CELLS:
                raise Unreadable(f"it has more than {MAX_CELLS:,} texts")

    def closed(self, name: str) -> None:
        if name == "si":
            self.lengths.append(self._length)

    def text(self, data: str) -> None:
        self._length += len(data)


class SheetReferences(ElementHandler):
    """Sheets of a workbook and their parts: one that is named twice would be read twice, and so on."""

    LEVELS: ClassVar = {"sheet": 1, "Relationship": 1}

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            found = [value for key, value in attributes.items() if key.rpartition(":")[2] == "id"]
        else:
            found = [attributes.get("Target", "").lower()] if attributes.get("Type", "").endswith("sheet") else []
        if not self._seen.isdisjoint(found):
            raise Unreadable("it is damaged (two sheets have one content)")
        self._seen.update(found)


class _Table(ElementHandler):
    """Keeps the size of the current sheet."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget = budget
        self.rows = self.columns = 0

    def fill(self, row: int, column: int) -> None:
        """A cell that is not empty; both from 0."""
        if row >= self.rows or column >= self.columns:
            before = self.rows * self.columns
            self.rows, self.columns = max(self.rows, row + 1), max(self.columns, column + 1)
            self.budget.take_cells(self.rows * self.columns - before)


class XlsxCells(_Table):
    """Cells have a place of their own, or come after the one before; some have the number of a shared text."""

    LEVELS: ClassVar = {"sheetData": 1, "row": 2, "c": 3}

    def __init__(self, budget: Budget, strings: SharedStrings) -> None:
        super().__init__(budget)
        self.lengths = strings.lengths
        self.row = self.column = 0
        self.place = 0, 0
        self.shared = self.in_value = False
        self.value: str | None = None

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        place = attributes.get("r")
        if name == "c":
            self.shared, self.value = attributes.get("t") == "s", None
            if place is None:
                self.place = self.row, self.column
                return
            found = _PLACE.fullmatch(place)
            if found is None:
                raise Unreadable(f"it is damaged (a cell at {place[:20]!r})")
            column = 0
            for letter in found[1].upper():
                column = 26 * column + ord(letter) - 64
            self.place = int(found[2]) - 1, column - 1
            self.column = column - 1
        elif name == "sheetData":
            self.rows = self.columns = self.row = self.column = 0
        elif place is not None:
            if not _ROW.fullmatch(place):
                raise Unreadable(f"it is damaged (a row at {place[:20]!r})")
            self.row = int(place) - 1

    def closed(self, name: str) -> None:
        if name == "c":
            self.column += 1
            if self.shared and self.value is not None and (number := _number(self.value)) < len(self.lengths):
                self.budget.take_text(self.lengths[number])
        elif name == "row":
            self.row += 1
            self.column = 0

    def inside(self, name: str, attributes: dict[str, str]) -> None:
        if name in ("v", "is"):
            self.fill(*self.place)
            self.in_value = name == "v"

    def left(self) -> None:
        self.in_value = False

    def text(self, data: str) -> None:
        if self.in_value and self.shared:
            if self.value is not None:  # a comment in a number ends it, for some
                raise Unreadable("it is damaged (the number of a text is in pieces)")
            self.value = data


class OdsTables(_Table):
    """A row and a cell may stand for many, and a text may have an element that stands for many spaces."""

    LEVELS: ClassVar = {"table": 1, "table-row": 2, "table-cell": 3, "covered-table-cell": 3}

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.row = self.column = 0
        self.high = self.wide = 1  # how often the current row, and the current cell, are there
        self.length = 0
        self.filled = False

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table":
            self.rows = self.columns = self.row = 0
        elif name == "table-row":
            self.column, self.high = 0, _repeats(attributes, "table:number-rows-repeated")
        else:
            self.wide = _repeats(attributes, "table:number-columns-repeated")
            self.filled = any(key.startswith("office:") or key == "table:formula" for key in attributes)
            self.length = sum(map(len, attributes.values()))

    def closed(self, name: str) -> None:
        if name == "table-row":
            self.row += self.high
        elif name != "table":
            if self.filled:
                self.fill(self.row + self.high - 1, self.column + self.wide - 1)
                self.budget.take_text(self.length * self.high * self.wide)
            self.column += self.wide

    def inside(self, name: str, attributes: dict[str, str]) -> None:
        if name == "s":
            self.length += _repeats(attributes, "text:c")

    def text(self, data: str) -> None:
        self.length += len(data)


def _repeats(attributes: Mapping[str, str], name: str) -> int:
    return max(1, _number(attributes[name])) if name in attributes else 1


def _number(value: str) -> int:
    """Written in the one way that everybody reads alike."""
    if not _NUMBER.fullmatch(value):
        raise Unreadable(f"it is damaged ({value[:20]!r} is no number)")
    return int(value)
