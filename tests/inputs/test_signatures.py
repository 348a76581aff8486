"""Files that are no text, each named with what to do."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.fuzz.seeds import SOUNDS, sound
from voxcli.inputs import signatures
from voxcli.inputs.signatures import Refusal, binary_kind, unreadable_kind


def archive(*names: str, mimetype: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        if mimetype:
            packed.writestr(zipfile.ZipInfo("mimetype"), mimetype)
        for name in names:
            packed.writestr(zipfile.ZipInfo(name), "x")  # of 1980, so that its bytes are the same in each process
    return file.getvalue()


OPEN = "application/vnd.oasis.opendocument."


@pytest.mark.parametrize(
    ("data", "suffix", "what"),
    [
        (archive("[Content_Types].xml", "word/document.xml"), "", signatures.WORD),
        (archive("word/document.xml")[:40], ".docx", signatures.WORD),
        (b"PK\x03\x04\xff\xfe", ".docx", signatures.WORD),
        (archive("xl/workbook.xml"), "", "xlsx"),
        (archive("xl/workbook.bin"), ".xlsb", signatures.OLD_OFFICE),
        (b"PK\x03\x04\xff\xfe", ".xlsx", "xlsx"),
        (archive("ppt/presentation.xml"), "", signatures.SLIDES),
        (archive("content.xml", mimetype=OPEN + "spreadsheet"), "", "ods"),
        (archive("content.xml", mimetype=OPEN + "text"), ".txt", signatures.WRITER),
        (archive("OEBPS/a.xhtml", mimetype="application/epub+zip"), ".zip", signatures.EPUB),
        (archive("a.txt"), ".txt", signatures.PACKED),
        (b"%PDF-1.7\n%\xe2\xe3", "", signatures.PDF),
        (b"{\\rtf1\\ansi Hello.}", ".txt", signatures.RTF),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), ".doc", signatures.OLD_OFFICE),
        (b"ID3\x03\x00\x00", "", signatures.AUDIO),
        (b"\x00\x00\x00\x20ftypM4A ", "", signatures.AUDIO),
        (b"\x00\x00\x00\x20ftypisom", ".mp4", signatures.VIDEO),
        (b"\x89PNG\r\n\x1a\n\x00", "", signatures.PICTURE),
        (b"\xff\xd8\xff\xe0\x00", "", signatures.PICTURE),
        (b"\x1f\x8b\x08\x00", ".gz", signatures.PACKED),
        (b"SQLite format 3\x00", "", signatures.DATABASE),
    ],
)
def test_a_file_is_known_by_its_first_bytes(data: bytes, suffix: str, what: Refusal | str) -> None:
    assert binary_kind(data, suffix) == what


@pytest.mark.parametrize(
    "form", [kind for kind in SOUNDS if kind[0] != "W64"], ids=lambda kind: "-".join(map(str, kind))
)
def test_every_kind_of_sound_is_known(form: tuple[str, str, int, int]) -> None:
    assert binary_kind(sound(*form), "") == signatures.AUDIO


@pytest.mark.parametrize(
    "text", ["ID3 is a format.", "GIF89a, too.", "PAR1 and BZh.", "RIFF raff.", "OggS", "", "MM", "Hello."]
)
def test_text_that_begins_alike_is_text(text: str) -> None:
    assert binary_kind(text.encode(), ".txt") is None
    assert binary_kind(text.encode("utf-16"), ".txt") is None


def test_what_has_no_signature_is_named_by_its_suffix() -> None:
    assert unreadable_kind(".pdf") == signatures.PDF
    assert unreadable_kind(".txt") == unreadable_kind("") == signatures.BINARY
