"""Read spreadsheets, Excel (.xlsx) and OpenDocument (.ods): the first sheet with a text column. Needs `tables`."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from voxcli.errors import InputError, Problem, quoted, reason_of
from voxcli.extras import install_hint
from voxcli.inputs.columns import Columns
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.sheetcount import Unreadable
from voxcli.inputs.sheetguard import Kind, repacked
from voxcli.inputs.tables import RowReader

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook


def read_spreadsheet(
    name: str, data: bytes, kind: Kind, columns: Columns, remarks: Remarks
) -> Iterator[InputRow | Problem]:
    """Yield the rows of the first sheet that has a text column. Raises InputError if it can't be opened."""
    with _readable(name):
        chosen, others = _choose(_open(name, data, kind), columns)
    if chosen is None:
        return
    if others:
        remarks.notes.append(f"read is the sheet {quoted(chosen.name)}, and not {', '.join(map(repr, others))}")
    reader: RowReader | None = None
    for line, cells in enumerate(chosen.iter_rows(), 1):
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


def _choose(workbook: CalamineWorkbook, columns: Columns) -> tuple[CalamineSheet | None, list[str]]:
    """Return the sheet to read, and the titles of the other sheets that are not empty. Holds two sheets at most."""
    chosen: CalamineSheet | None = None
    titles: list[str] = []
    certain = False
    for title in workbook.sheet_names:
        sheet = workbook.get_sheet_by_name(title)
        if sheet.start is None:
            continue
        titles.append(title)
        has_text = not certain and _has_text(sheet.iter_rows(), columns)
        if chosen is None or has_text:
            chosen, certain = sheet, has_text
    return chosen, [title for title in titles if chosen is not None and title != chosen.name]


def _has_text(rows: Iterator[Sequence[Any]], columns: Columns) -> bool:
    header = next((row for row in rows if any(cell != "" for cell in row)), ())
    return any(isinstance(cell, str) and columns.field(cell.strip()) == "text" for cell in header)


def _as_text(cell: Any) -> str:
    """Return a cell as text: whole numbers without a point, dates as ISO 8601."""
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


def _open(name: str, data: bytes, kind: Kind) -> CalamineWorkbook:
    try:
        from python_calamine import CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"{name} is a spreadsheet: reading it needs one more package, {install_hint('tables')}; or save it as .csv"
        ) from error
    return CalamineWorkbook.from_filelike(io.BytesIO(repacked(data, kind)))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn the errors of the library into InputError."""
    try:
        yield
    except InputError:
        raise
    except Unreadable as error:
        raise InputError(f"{name}: {error}") from error
    except BaseException as error:
        # a damaged file may also cause a panic of the library, which is not an Exception
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            reason = reason_of(error)
            raise InputError(
                f"{name} is a spreadsheet that can't be read ({reason}): save it again, or as .csv"
            ) from error
        raise
