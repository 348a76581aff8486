"""Small spreadsheets, written as the formats have them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

Cells = Sequence[Sequence[object]]
_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OPEN = "urn:oasis:names:tc:opendocument:xmlns"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def zipped(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def xlsx_parts(sheets: Mapping[str, Cells | str]) -> dict[str, str | bytes]:
    """A sheet is cells, or its XML between <sheetData> tags."""
    names = list(sheets)
    tabs = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, 1))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(names) + 1)
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{tabs}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{links}</Relationships>',
    }
    for n, name in enumerate(names, 1):
        cells = sheets[name]
        rows = cells if isinstance(cells, str) else "".join(_xlsx_row(n, row) for n, row in enumerate(cells, 1))
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return parts


def xlsx(sheets: Mapping[str, Cells | str]) -> bytes:
    return zipped(xlsx_parts(sheets))


def _xlsx_row(number: int, cells: Sequence[object]) -> str:
    found = []
    for column, cell in enumerate(cells):
        place = f"{chr(65 + column)}{number}"
        if isinstance(cell, bool):
            found.append(f'<c r="{place}" t="b"><v>{int(cell)}</v></c>')
        elif isinstance(cell, int | float):
            found.append(f'<c r="{place}"><v>{cell}</v></c>')
        elif cell is not None:
            found.append(f'<c r="{place}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>')
    return f'<row r="{number}">{"".join(found)}</row>'


def ods_parts(sheets: Mapping[str, Cells | str]) -> dict[str, str | bytes]:
    """A sheet is cells, or the XML of its rows."""
    tables = "".join(
        f'<table:table table:name="{name}">{cells if isinstance(cells, str) else "".join(map(_ods_row, cells))}'
        "</table:table>"
        for name, cells in sheets.items()
    )
    kinds = "office", "table", "text"
    spaces = " ".join(f'xmlns:{kind}="{_OPEN}:{kind}:1.0"' for kind in kinds)
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f'<m:manifest xmlns:m="{_OPEN}:manifest:1.0"/>',
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>{tables}"
        "</office:spreadsheet></office:body></office:document-content>",
    }


def ods(sheets: Mapping[str, Cells | str]) -> bytes:
    return zipped(ods_parts(sheets), zipfile.ZIP_STORED)


def _ods_row(cells: Sequence[object]) -> str:
    found = []
    for cell in cells:
        if isinstance(cell, int | float):
            found.append(f'<table:table-cell office:value-type="float" office:value="{cell}"/>')
        elif cell is None:
            found.append("<table:table-cell/>")
        else:
            words = escape(str(cell))
            found.append(f'<table:table-cell office:value-type="string"><text:p>{words}</text:p></table:table-cell>')
    return f"<table:table-row>{''.join(found)}</table:table-row>"
