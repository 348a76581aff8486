"""Spreadsheets, Excel (.xlsx) and OpenDocument (.ods): the first sheet with a column for the text. Extra `tables`."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from voxcli.errors import InputError, Problem, quoted
from voxcli.extras import install_hint
from voxcli.inputs.columns import Columns
from voxcli.inputs.rows import RawRow, Remarks
from voxcli.inputs.sheetguard import Unreadable, repacked
from voxcli.inputs.tables import RowReader

Rows = Sequence[Sequence[Any]]


def read_spreadsheet(
    name: str, data: bytes, kind: Literal["xlsx", "ods"], columns: Columns, remarks: Remarks
) -> Iterator[RawRow | Problem]:
    """Rows of the first sheet that has a column for the text. Raises InputError for what can't be opened."""
    sheets = _sheets(name, data, kind)
    chosen = next((sheet for sheet in sheets if _has_text(sheet[2], columns)), None)
    if chosen is None:
        chosen = next((sheet for sheet in sheets if sheet[2]), None)
    if chosen is None:
        return
    title, first, rows = chosen
    others = [repr(other) for other, _, cells in sheets if other != title and cells]
    if others:
        remarks.notes.append(f"read is the sheet {quoted(title)}, and not {', '.join(others)}")
    reader: RowReader | None = None
    for line, cells in enumerate(rows, first + 1):
        values = [_as_text(cell) for cell in cells]
        if not any(values):
            continue
        if reader is not None:
            yield reader.row(line, values)
            continue
        try:
            reader = RowReader(columns.header(values), "\t")
        except InputError as error:
            yield Problem(line, str(error))
            return
        remarks.names = reader.header.names


def _has_text(rows: Rows, columns: Columns) -> bool:
    header = next((row for row in rows if any(cell != "" for cell in row)), ())
    return any(isinstance(cell, str) and columns.field(cell.strip()) == "text" for cell in header)


def _as_text(cell: Any) -> str:
    """A cell as one would write it: whole numbers without a point, dates as ISO 8601."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    return "" if cell is None else str(cell)


def _sheets(name: str, data: bytes, kind: Literal["xlsx", "ods"]) -> list[tuple[str, int, Rows]]:
    """Title, place of the first row from 0, and rows of each sheet, in their order."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"{name} is a spreadsheet: reading it needs one more package, {install_hint('tables')}; or save it as .csv"
        ) from error
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(repacked(data, kind)))
        found: list[tuple[str, int, Rows]] = []
        for title in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(title)
            found.append((title, sheet.start[0] if sheet.start else 0, sheet.to_python()))
        return found
    except Unreadable as error:
        raise InputError(f"{name}: {error}") from error
    except BaseException as error:
        # a damaged file may also end in a panic of the library, which is none of Python's exceptions
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            reason = " ".join(str(error).split()) or "no reason given"
            raise InputError(
                f"{name} is a spreadsheet that can't be read ({reason}): save it again, or as .csv"
            ) from error
        raise
