"""No spreadsheet fills the memory: neither by what it unpacks to nor by what few of its cells stand for."""

from __future__ import annotations

import io
import pickle
import resource
import struct
import sys
import zipfile
from pathlib import Path

import pytest

from tests.children import finished
from tests.inputs import sheets
from voxcli.inputs import sheetguard
from voxcli.inputs.sheetcount import Unreadable
from voxcli.inputs.sheetguard import Kind, repacked
from voxcli.inputs.signatures import PACKED, binary_kind

TABLE = [["id", "text"], ["a", "Hello."]]
SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
BOTH: tuple[Kind, Kind] = "xlsx", "ods"


def xlsx(rows: str, strings: str = "", **replaced: tuple[str, str]) -> bytes:
    """rows: of the one sheet.  strings: the part of the shared ones.  replaced: texts in `sheet` and `links`."""
    parts = sheets.xlsx_parts({"A": rows}) | ({STRINGS: strings} if strings else {})
    for part, name in (("sheet", SHEET), ("links", "xl/_rels/workbook.xml.rels")):
        parts[name] = str(parts[name]).replace(*replaced.get(part, ("", "")))
    return sheets.zipped(parts)


def ods(rows: str) -> bytes:
    return sheets.ods({"A": rows})


def cell(content: str = "", *, wide: object = 1, **office: object) -> str:
    """Of an .ods file."""
    named = "".join(f' office:{name.replace("_", "-")}="{value}"' for name, value in office.items())
    return f'<table:table-cell{named} table:number-columns-repeated="{wide}">{content}</table:table-cell>'


def row(cells: str, high: object = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{high}">{cells}</table:table-row>'


def sst(*strings: str, attributes: str = "") -> str:
    return f"<sst{attributes}>{''.join(f'<si><t>{words}</t></si>' for words in strings)}</sst>"


def shared(number: str) -> str:
    """A thousand cells that show the shared text of this number."""
    return f'<row>{f"""<c t="s"><v>{number}</v></c>""" * 1000}</row>'


LONG = "x" * 70_000  # for a thousand cells, too much
LAST = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
FIRST = '<row r="1"><c r="A1"><v>1</v></c></row>'
WIDE = cell(wide=16_384, value=1)
TEXT, NUMBER = {"value_type": "string"}, {"value": 1}
LAUGHS = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))

TOO_LARGE = {
    # The library makes room for all cells between the first and the last.
    "cells far apart": xlsx(FIRST + LAST),
    "rows that go back": xlsx(LAST + FIRST),
    "a cell after one that is far to the right": xlsx(
        '<row r="1"><c r="ZZZ1"><v>1</v></c></row><row r="999"><c><v>1</v></c></row>'
    ),
    "a row before the sheet, which is none": xlsx(
        f"<row><c><v>1</v></c></row>{LAST}", sheet=("<sheetData>", '<row r="1048575"/><sheetData>')
    ),
    "sheets that are large together": sheets.xlsx(
        {f"A{n}": FIRST + '<row r="90000"><c r="J90000"><v>1</v></c></row>' for n in range(6)}
    ),
    "a sheet with a strange name": sheets.zipped(
        {
            name.replace("worksheets/sheet1.xml", "a.rels"): str(part).replace("worksheets/sheet1.xml", "a.rels")
            for name, part in sheets.xlsx_parts({"A": FIRST + LAST}).items()
        }
    ),
    "a sheet outside the folder of sheets": sheets.zipped(
        {
            name.replace("xl/worksheets/", ""): str(part).replace("worksheets/", "/")
            for name, part in sheets.xlsx_parts({"A": FIRST + LAST}).items()
        }
    ),
    # The same again.
    "a cell for a whole sheet": ods(row(WIDE, 1_048_576)),
    "a row for more than a sheet": ods(row(cell(value=1), 999_999_999)),
    "a cell for more than a row": ods(row(cell(wide=999_999_999, value=1))),
    "a text without a type": ods(row(cell(wide=16_384, string_value="x"), 1_048_576)),
    "empty cells before the one in each row": ods(row(cell(wide=16_383) + cell(value=1)) * 1000),
    "empty rows between": ods(row(WIDE) + row("", 1_000_000) + row(WIDE)),
    "tables that are large together": sheets.ods({f"A{n}": row(cell(wide=1000, value=1), 1000) for n in range(6)}),
}  # fmt: skip
TOO_LONG = {
    # Each cell gets a text of its own.
    "a text that many cells share": xlsx(shared("0"), sst(LONG)),
    "a text in many pieces": xlsx(shared("0"), f"<sst><si>{'<r><t>x</t></r>' * 70_000}</si></sst>"),
    "a list that begins late": xlsx(shared("0"), f"<a><si><t/></si>{sst(LONG)}</a>"),
    "a list that is a sheet too": sheets.zipped(
        {
            name: str(part).replace("worksheets/sheet1.xml", "sharedStrings.xml")
            for name, part in sheets.xlsx_parts({"A": ""}).items()
            if name != SHEET
        }
        | {STRINGS: f"<a>{sst(LONG)}<sheetData>{shared('0')}</sheetData></a>"}
    ),
    "a text for many cells": ods(row(cell(LONG, wide=1000, **TEXT))),
    "a value for many rows": ods(row(cell(string_value=LONG), 1000)),
    "a formula for many rows": ods(row(cell(value=1).replace(" ", f' table:formula="{LONG}" ', 1), 1000)),
    "many spaces": ods(row(cell('<text:p><text:s text:c="4000000000"/></text:p>', **TEXT))),
}  # fmt: skip
# What the library understands, but not as one might think; with the reason.
UNUSUAL = {
    "a column of four letters": (xlsx('<row r="1"><c r="AAAA1"><v>1</v></c></row>'), "a cell at 'AAAA1'"),
    "a row with letters": (xlsx('<row r="A4294967295"/>'), "a row at 'A4294967295'"),
    "a cell in a cell": (xlsx(f'<row><c><c r="XFD1048576"><v>1</v></c></c></row>{FIRST}'), "c within another"),
    "a part for many sheets": (
        sheets.zipped(
            {
                name: str(part).replace("worksheets/sheet2.xml", "Worksheets/sheet1.xml")
                for name, part in sheets.xlsx_parts({"A": TABLE, "B": TABLE}).items()
            }
        ),
        "two sheets have one content",
    ),
    "a link for many sheets": (
        sheets.zipped(
            {
                name: str(part).replace('r:id="r2"', 'r:id="r1"')
                for name, part in sheets.xlsx_parts({"A": TABLE, "B": TABLE}).items()
            }
        ),
        "two sheets have one content",
    ),
    "two lists of texts": (xlsx(shared("0"), f"<a>{sst(LONG)}{sst('')}</a>"), "two lists of shared texts"),
    "another list of texts": (
        sheets.zipped({"a/SharedStrings.xml": sst(""), **sheets.xlsx_parts({"A": shared("0")}), STRINGS: sst(LONG)}),
        "two parts have one name",
    ),
    "room for many texts": (xlsx("", sst("", attributes=' uniqueCount="999999999"')), "more than 5,000,000 texts"),
    "room for endless texts": (xlsx("", sst("", attributes=f' uniqueCount="{"9" * 19}"')), "'9{19}' is no number"),
    "a number that a comment ends": (xlsx(shared("0<!-- -->1"), sst(LONG, "")), "the number of a text is in pieces"),
    "a number in two ways": (xlsx(shared("0&#49;"), sst(LONG, "")), "the number of a text is in pieces"),
    "a number with a space": (xlsx(shared(" 1"), sst(LONG, "")), "' 1' is no number"),
    "a number with a sign": (ods(row(WIDE, "+1048576")), r"'\+1048576' is no number"),
    "a table in a table": (
        ods(row(cell(value=1), 1_000_000) + "<table:table/>" + row(WIDE)), "table within another"
    ),
    "a row in a cell": (ods(row(cell("<table:table-row/>", wide=16_000, **TEXT) * 999)), "table-row within another"),
    "a cell of another kind in a cell": (
        ods(row(cell("<table:covered-table-cell/>", wide=16_000, **TEXT) * 999)), "covered-table-cell within another"
    ),
    "entities of entities": (
        xlsx("", sheet=("<worksheet", f'<!DOCTYPE a [<!ENTITY a0 "ha">{LAUGHS}]><worksheet')), "a document type"
    ),
    "an entity of another file": (
        xlsx("", sheet=("<worksheet", '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet')),
        "a document type",
    ),
    "another encoding": (
        sheets.zipped(
            {name: str(part).encode("utf-16" if name == SHEET else "utf-8")
             for name, part in sheets.xlsx_parts({"A": FIRST + LAST}).items()}
        ),
        "it is not UTF-8",
    ),
    "an end that is missing": (xlsx("<row>"), "mismatched tag"),
}  # fmt: skip
HOSTILE: dict[str, tuple[bytes, str]] = (
    {name: (data, "its sheets are larger than 5,000,000 cells") for name, data in TOO_LARGE.items()}
    | {name: (data, "its cells hold more than 67,108,864 characters") for name, data in TOO_LONG.items()}
    | UNUSUAL
)


def kind_of(data: bytes) -> Kind:
    return "ods" if b"opendocument" in data[:100] else "xlsx"


@pytest.mark.parametrize("name", HOSTILE)
def test_what_stands_for_more_than_it_is_is_refused(name: str) -> None:
    data, reason = HOSTILE[name]
    assert len(data) < 250_000
    with pytest.raises(Unreadable, match=reason):
        repacked(data, kind_of(data))


def test_each_kind_gets_its_own_parts() -> None:
    """The library tries one kind after the other, whatever the file was taken for."""
    both = {}
    for kind, data in (("ods", ods(row(WIDE, 1_048_576))), ("xlsx", sheets.xlsx({"A": TABLE}))):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            both[kind] = {name: archive.read(name) for name in archive.namelist()}
    for first, second in (BOTH, BOTH[::-1]):
        data = sheets.zipped(both[first] | both[second])
        if first == "ods":
            with pytest.raises(Unreadable):
                repacked(data, "ods")
        with zipfile.ZipFile(io.BytesIO(repacked(data, "xlsx"))) as archive:
            assert "mimetype" not in archive.namelist()
    with zipfile.ZipFile(io.BytesIO(repacked(sheets.zipped(sheets.xlsx_parts({"A": TABLE})), "ods"))) as archive:
        assert not archive.namelist()


# The archive.


def bomb(kind: Kind, size: int, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return sheets.zipped({SHEET if kind == "xlsx" else "content.xml": b"<a>" + b" " * size + b"</a>"}, method)


@pytest.mark.parametrize("kind", BOTH)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bomb(kind, 30_000_000)
    assert len(data) < 200_000
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 3_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Unreadable, match="it unpacks to more than 3,000,000 bytes"):
        repacked(data, kind)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 12_000, "kilobytes"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_takes_any_memory_to_unpack_is_not_unpacked(method: int) -> None:
    with pytest.raises(Unreadable, match="packed in a way that spreadsheets are not"):
        repacked(bomb("xlsx", 1000, method), "xlsx")


def test_a_size_that_is_a_lie_helps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 1_000_000)
    data = bytearray(bomb("xlsx", 2_000_000))
    directory = data.rindex(b"PK\x01\x02")
    for place in (directory + 24, 22):  # what it unpacks to, there and in front of the part
        data[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(Unreadable, match="it is damaged"):
        repacked(bytes(data), "xlsx")


def test_parts_that_are_one_place_in_the_file_are_refused() -> None:
    whole = bytearray(sheets.zipped({"a.xml": "<a/>"}))
    at, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entries = whole[at:end] + whole[at:end].replace(b"a.xml", b"b.xml")
    struct.pack_into("<HHL", whole, end + 8, 2, 2, len(entries))
    with pytest.raises(Unreadable, match=r"it is damaged \(File name in directory 'b.xml' and header b'a.xml' differ"):
        repacked(bytes(whole[:at] + entries + whole[end:]), "xlsx")


def test_a_directory_of_any_length_is_not_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for n in range(10_001):
            archive.writestr(f"xl/{n}.xml", "")
    with pytest.raises(Unreadable, match="it has more than 10,000 parts"):
        repacked(file.getvalue(), "xlsx")
    assert binary_kind(file.getvalue(), ".zip") == PACKED


def test_an_encrypted_part_is_named() -> None:
    data = bytearray(sheets.xlsx({"A": TABLE}))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(Unreadable, match="it is protected with a password: save it without"):
        repacked(bytes(data), "xlsx")


def test_two_parts_of_one_name_are_refused() -> None:
    for name in ("XL/workbook.xml", "xl/Workbook.xml"):
        with pytest.raises(Unreadable, match="two parts have one name"):
            repacked(sheets.zipped(sheets.xlsx_parts({"A": TABLE}) | {name: "<a/>"}), "xlsx")


def test_pictures_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheetguard, "MAX_BYTES", 1_000_000)
    parts = sheets.xlsx_parts({"A": TABLE}) | {"xl/media/image1.png": b"\0" * 3_000_000}
    assert len(repacked(sheets.zipped(parts), "xlsx")) < 10_000


# What is read, with the library, in a process that may take only so much memory.

CHILD = """
import pickle, resource, sys
import python_calamine
from voxcli.errors import InputError
from voxcli.inputs import sheetcount
from voxcli.inputs.columns import Columns
from voxcli.inputs.rows import Remarks
from voxcli.inputs.spreadsheet import read_spreadsheet

with open(sys.argv[1], "rb") as file:
    files = pickle.load(file)
sheetcount.MAX_CELLS = int(sys.argv[2])
sheetcount.MAX_CHARACTERS = int(sys.argv[3])
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
limit = now + int(sys.argv[4]) * 1_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for name, data in files.items():
    kind = "ods" if b"opendocument" in data[:100] else "xlsx"
    try:
        rows = sum(1 for _ in read_spreadsheet("a", data, kind, Columns(), Remarks()))
        print(name, rows, sep="|", flush=True)
    except InputError as error:
        print(name, str(error)[:80], sep="|", flush=True)
"""


def read_with(folder: Path, files: dict[str, bytes], cells: int, characters: int, megabytes: int) -> dict[str, str]:
    """What comes of each file in a process that may take so much memory more; a death leaves the rest out."""
    pytest.importorskip("python_calamine")
    (folder / "files").write_bytes(pickle.dumps(files))
    command = [sys.executable, "-c", CHILD, folder / "files", str(cells), str(characters), str(megabytes)]
    done = finished(command, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(line.rsplit("|", 1) for line in done.stdout.splitlines())


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to a limit of addresses")


@needs_limits
def test_what_is_refused_takes_no_memory(tmp_path: Path) -> None:
    found = read_with(tmp_path, {name: data for name, (data, _) in HOSTILE.items()}, 5_000_000, 1 << 26, 150)
    assert found.keys() == HOSTILE.keys()
    assert all(message.startswith("a: it") for message in found.values()), found


@needs_limits
def test_what_is_just_allowed_takes_what_the_limits_say(tmp_path: Path) -> None:
    """Of 500,000 cells and 6,000,000 characters, a tenth of what is allowed."""
    words = "x" * 5_900
    head = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    found = read_with(
        tmp_path,
        {
            "cells far apart": xlsx(f'{head}<row r="50000"><c r="J50000"><v>1</v></c></row>'),
            "a shared text": xlsx(shared("0"), sst(words)),
            "a cell for many": ods(row(cell("text", **TEXT)) + row(cell(wide=10, value=1), 49_999)),
            "a text for many": ods(row(cell("text", **TEXT)) + row(cell(words, **TEXT), 1000)),
            "a formula for many": ods(row(cell(value=1).replace(" ", f' table:formula="{words}" ', 1), 1000)),
            "empty cells before each": ods(row(cell("text", **TEXT)) + row(cell(wide=16_383) + cell(value=1)) * 29),
            "spaces": ods(row(cell('a<text:s text:c="5900000"/>b', **TEXT))),
        },
        500_000,
        6_000_000,
        200,
    )
    assert found == {
        "cells far apart": "1",
        "a shared text": "1",
        "a cell for many": "49999",
        "a text for many": "1000",
        "a formula for many": "1",
        "empty cells before each": "29",
        "spaces": "1",
    }


@needs_limits
def test_an_ordinary_workbook_of_100_000_rows_is_read(tmp_path: Path) -> None:
    rows = "".join(f'<row><c t="s"><v>{n % 1000 + 1}</v></c><c><v>{n}</v></c></row>' for n in range(100_000))
    head = '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>seed</t></is></c></row>'
    data = xlsx(head + rows, sst("text", *(f"This is the line number {n} of a long book." for n in range(1000))))
    assert read_with(tmp_path, {"book": data}, 5_000_000, 1 << 26, 300) == {"book": "100000"}
