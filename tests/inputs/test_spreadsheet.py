"""Spreadsheets: read like tables, and no way to fill the memory."""

from __future__ import annotations

import resource
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.inputs import sheets
from voxcli.errors import InputError, ManifestError, Problem
from voxcli.inputs import sheetguard
from voxcli.inputs.columns import Columns
from voxcli.inputs.manifest import Manifest, read_manifest
from voxcli.inputs.rows import RawRow, Remarks
from voxcli.inputs.sheetguard import Unreadable, repacked
from voxcli.inputs.spreadsheet import read_spreadsheet
from voxcli.jobs.settings import Settings

Kind = Literal["xlsx", "ods"]
KINDS: dict[Kind, Callable[[Any], bytes]] = {"xlsx": sheets.xlsx, "ods": sheets.ods}
TABLE = [["ID", "Text ", "seed", "cfg", "Notes"], ["a", 'Hello, "you".', 7, 2.5, "loud"], [2, "1984", "8", "1,5", None]]


def read(folder: Path, data: bytes, name: str) -> Manifest:
    (folder / name).write_bytes(data)
    return read_manifest(str(folder / name), folder / "out")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sheet_is_a_table(kind: Kind, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    found = read(tmp_path, KINDS[kind]({"Lines": TABLE}), f"lines.{kind}")
    assert [(job.id, job.text, job.settings, dict(job.extra)) for job in found.jobs] == [
        ("a", 'Hello, "you".', Settings(seed=7, cfg=2.5), {"Notes": "loud"}),
        ("2", "1984", Settings(seed=8, cfg=1.5), {}),
    ]
    assert [job.line for job in found.jobs] == [2, 3]
    assert found.description == "a spreadsheet of 2 rows, columns ID, Text, seed, cfg, Notes"
    assert read(tmp_path, KINDS[kind]({"Lines": TABLE}), "no-suffix").jobs[0].text == 'Hello, "you".'


@pytest.mark.parametrize("kind", KINDS)
def test_the_sheet_with_a_column_for_the_text_is_read_and_the_others_are_named(kind: Kind, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    found = read(tmp_path, KINDS[kind]({"Cover": [["A title"]], "Lines": TABLE, "Empty": []}), f"a.{kind}")
    assert len(found.jobs) == 2
    assert found.notes[0] == "read is the sheet 'Lines', and not 'Cover'"
    with pytest.raises(ManifestError, match="line 1: no column 'text'; the first line is 'A title'"):
        read(tmp_path, KINDS[kind]({"Cover": [["A title"], ["x"]]}), f"b.{kind}")
    with pytest.raises(ManifestError, match="no lines to speak"):
        read(tmp_path, KINDS[kind]({"Empty": []}), f"c.{kind}")


def test_numbers_and_truth_values_are_as_one_writes_them() -> None:
    pytest.importorskip("python_calamine")
    data = sheets.xlsx({"A": [["text"], [1984], [0.1], [True], [1e20]]})
    rows = list(read_spreadsheet("a.xlsx", data, "xlsx", Columns(), Remarks()))
    assert [row.fields["text"] for row in rows if isinstance(row, RawRow)] == ["1984", "0.1", "true", "1e+20"]


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"is a spreadsheet: .* pip install python-calamine; or save it as \.csv"):
        read(tmp_path, sheets.xlsx({"A": TABLE}), "a.xlsx")


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_one_is_refused_by_name(kind: Kind, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    whole = KINDS[kind]({"A": TABLE})
    for data in (whole[:60], whole[:-30], whole[:200] + bytes(50) + whole[250:], b"PK\x03\x04" + bytes(90)):
        with pytest.raises(InputError, match=f"a.{kind}"):
            read(tmp_path, data, f"a.{kind}")


# What is made to fill the memory.


def bomb(kind: Kind, size: int) -> bytes:
    part = "xl/worksheets/sheet1.xml" if kind == "xlsx" else "content.xml"
    return sheets.zipped({part: b"<a>" + b" " * size + b"</a>"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bomb(kind, 100_000_000)
    assert len(data) < 200_000
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 10_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Unreadable, match="it unpacks to more than 10,000,000 bytes"):
        repacked(data, kind)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000, "kilobytes"


def test_a_size_that_is_a_lie_helps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 1_000_000)
    data = bytearray(bomb("xlsx", 2_000_000))
    directory = data.rindex(b"PK\x01\x02")
    for place in (directory + 24, 22):  # what it unpacks to, there and in front of the part
        data[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="it is damaged"):
        repacked(bytes(data), "xlsx")


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c><c r="ZZZ1"><v>1</v></c></row><row r="999"><c><v>1</v></c></row>',
    ],
)
def test_cells_far_apart_are_refused(rows: str) -> None:
    with pytest.raises(Unreadable, match="one of its sheets is larger than 5,000,000 cells"):
        repacked(sheets.xlsx({"A": rows}), "xlsx")


@pytest.mark.parametrize(("rows", "columns"), [(1_048_576, 16_384), (999_999_999, 1), (1, 999_999_999)])
def test_a_cell_that_stands_for_many_is_counted_so(rows: int, columns: int) -> None:
    cell = f'<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="{columns}"/>'
    row = f'<table:table-row table:number-rows-repeated="{rows}">{cell}</table:table-row>'
    with pytest.raises(Unreadable, match="one of its sheets is larger than 5,000,000 cells"):
        repacked(sheets.ods({"A": row}), "ods")
    empty = row.replace('office:value-type="float" office:value="1" ', "")
    assert repacked(sheets.ods({"A": empty}), "ods")


def test_what_a_sheet_must_not_have_is_refused() -> None:
    parts = sheets.xlsx_parts({"A": TABLE})
    sheet = str(parts["xl/worksheets/sheet1.xml"])
    for content, reason in (
        (f'<!DOCTYPE a [<!ENTITY b "c">]>{sheet}', "a document type is declared"),
        (sheet.replace("</row>", "", 1), "damaged"),
        (sheet.replace('"A3"', '"A1"'), "its rows are not in order"),
    ):
        with pytest.raises(Unreadable, match=reason):
            repacked(sheets.zipped(parts | {"xl/worksheets/sheet1.xml": content}), "xlsx")
    with pytest.raises(Unreadable, match="more than 10,000 parts"):
        repacked(sheets.zipped({f"{n}.xml": "" for n in range(10_001)}, zipfile.ZIP_STORED), "xlsx")


def test_pictures_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 1_000_000)
    parts = sheets.xlsx_parts({"A": TABLE}) | {"xl/media/image1.png": b"\0" * 3_000_000}
    assert len(repacked(sheets.zipped(parts), "xlsx")) < 10_000


def test_problems_have_their_line() -> None:
    pytest.importorskip("python_calamine")
    data = sheets.xlsx({"A": [["text"], ["a"], ["b", "c"]]})
    rows = list(read_spreadsheet("a.xlsx", data, "xlsx", Columns(), Remarks()))
    assert rows[1] == Problem(3, "2 cells, the header has 1: quote a cell with the delimiter")
