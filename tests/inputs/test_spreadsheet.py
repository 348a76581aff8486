"""Spreadsheets are read like tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.inputs import sheets
from voxcli.errors import InputError, ManifestError, Problem
from voxcli.inputs.columns import Columns
from voxcli.inputs.manifest import Manifest, read_manifest
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.sheetguard import Kind
from voxcli.inputs.spreadsheet import read_spreadsheet
from voxcli.jobs.settings import Settings

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
    assert [row.fields["text"] for row in rows if isinstance(row, InputRow)] == ["1984", "0.1", "true", "1e+20"]


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


def test_problems_have_their_line() -> None:
    pytest.importorskip("python_calamine")
    data = sheets.xlsx({"A": [["text"], ["a"], ["b", "c"]]})
    rows = list(read_spreadsheet("a.xlsx", data, "xlsx", Columns(), Remarks()))
    assert rows[1] == Problem(3, "2 cells, the header has 1: quote a cell with the delimiter")
