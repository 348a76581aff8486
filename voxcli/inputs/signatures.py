"""Recognize files that are not text by their first bytes, and say how to get something that can be read."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Literal, NamedTuple

MAX_PARTS = 10_000  # of a zip archive: opening one takes ten times the bytes that its directory has
_DIRECTORY_ENTRY = b"PK\x01\x02"


class Refusal(NamedTuple):
    """Why a file is not read. what: its kind.  remedy: what to do instead."""

    what: str
    remedy: str


_AS_TEXT = "save it as plain text (.txt, UTF-8)"
WORD = Refusal("a Word document", f"{_AS_TEXT}, or `pandoc FILE -t plain --wrap=none -o FILE.txt`")
WRITER = Refusal("an OpenDocument text", f"{_AS_TEXT}, or `pandoc FILE -t plain --wrap=none -o FILE.txt`")
EPUB = Refusal("an EPUB book", "convert it to plain text first: `pandoc FILE -t plain --wrap=none -o FILE.txt`")
PDF = Refusal("a PDF document", "extract its text first: `pdftotext FILE FILE.txt`, and review it")
RTF = Refusal("a Rich Text document", _AS_TEXT)
SLIDES = Refusal("a presentation", "save its outline as plain text")
OLD_OFFICE = Refusal("a document of an old Office format", "save it as .xlsx or .csv, a text as .txt")
AUDIO = Refusal("a recording, not text", "a voice is named with --ref")
PICTURE = Refusal("a picture", "only text can be spoken")
VIDEO = Refusal("a video", "only text can be spoken")
PACKED = Refusal("a compressed archive", "unpack it first")
DATABASE = Refusal("a database", "export the table as .csv or .jsonl")
BINARY = Refusal("binary data, not text", "give text, JSON Lines or a table")

_BY_START: tuple[tuple[bytes, Refusal], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_OFFICE),
    (b"fLaC", AUDIO),
    (b"OggS", AUDIO),
    (b"ID3", AUDIO),
    (b"caff\x00", AUDIO),
    (b".snd\x00", AUDIO),
    (b"#!AMR", AUDIO),
    (b"riff\x2e\x91\xcf\x11", AUDIO),
    (b"\x1a\x45\xdf\xa3", VIDEO),
    (b"\x89PNG\r\n", PICTURE),
    (b"GIF87a", PICTURE),
    (b"GIF89a", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"II*\x00", PICTURE),
    (b"MM\x00*", PICTURE),
    (b"\x1f\x8b", PACKED),
    (b"BZh", PACKED),
    (b"\xfd7zXZ\x00", PACKED),
    (b"7z\xbc\xaf\x27\x1c", PACKED),
    (b"\x28\xb5\x2f\xfd", PACKED),
    (b"Rar!\x1a\x07", PACKED),
    (b"SQLite format 3\x00", DATABASE),
    (b"PAR1", DATABASE),
)
_BY_SUFFIX: dict[str, Refusal] = {
    **dict.fromkeys((".docx", ".docm", ".dotx"), WORD),
    ".odt": WRITER,
    ".epub": EPUB,
    ".pdf": PDF,
    **dict.fromkeys((".pptx", ".odp", ".key"), SLIDES),
    **dict.fromkeys((".doc", ".xls", ".ppt", ".xlsb", ".numbers", ".pages"), OLD_OFFICE),
    **dict.fromkeys((".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".aac", ".wma", ".aiff"), AUDIO),
    **dict.fromkeys((".mp4", ".mkv", ".webm", ".mov", ".avi"), VIDEO),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"), PICTURE),
    **dict.fromkeys((".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst", ".tar"), PACKED),
    **dict.fromkeys((".sqlite", ".db", ".parquet"), DATABASE),
}
_MP3_FRAME = re.compile(rb"\xff[\xe2-\xe7\xf2-\xf7\xfa\xfb\xfc\xfd][\x10-\xef]", re.DOTALL)
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_OPEN_DOCUMENT = re.compile(
    rb"mimetypeapplication/(epub\+zip|vnd\.oasis\.opendocument\.(?:spreadsheet|text|presentation))"
)


def binary_kind(data: bytes, suffix: str) -> Refusal | Literal["xlsx", "ods"] | None:
    """Return the kind of a file by its content; None if it may be text. suffix: lower case; used if it is damaged."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(data, suffix)
    if data[:64].lstrip().startswith(b"%PDF-"):
        return PDF
    if data.startswith(b"{\\rtf"):
        return RTF
    if not _UNPRINTABLE.search(data, 0, 512):  # a text may well begin with "GIF89a" or "ID3"
        return None
    if data[:4] in (b"RIFF", b"RIFX", b"FORM", b"RF64"):
        form = data[8:12]
        if form in (b"WAVE", b"AIFF", b"AIFC"):
            return AUDIO
        if form in (b"AVI ", b"WEBP"):
            return VIDEO if form == b"AVI " else PICTURE
    if data[4:8] == b"ftyp":
        return AUDIO if data[8:11] == b"M4A" or suffix == ".m4a" else VIDEO
    for start, refusal in _BY_START:
        if data.startswith(start):
            return refusal
    return AUDIO if _MP3_FRAME.match(data) else None


def unreadable_kind(suffix: str) -> Refusal:
    """Return the kind of a binary file without a known signature, by its name."""
    return _BY_SUFFIX.get(suffix, BINARY)


def too_many_parts(data: bytes) -> bool:
    """Whether a zip archive has more than MAX_PARTS, without opening it."""
    return data.count(_DIRECTORY_ENTRY) > MAX_PARTS


def _zip_kind(data: bytes, suffix: str) -> Refusal | Literal["xlsx", "ods"]:
    if found := _OPEN_DOCUMENT.match(data, 30):
        kind = found[1]
        if kind == b"epub+zip":
            return EPUB
        if kind.endswith(b"spreadsheet"):
            return "ods"
        return WRITER if kind.endswith(b"text") else SLIDES
    try:
        names = []
        if not too_many_parts(data):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        names = []
    for folder, kind_of_office in (("word/", WORD), ("xl/", "xlsx"), ("ppt/", SLIDES)):
        if any(name.startswith(folder) for name in names):
            if kind_of_office == "xlsx":
                return "xlsx" if "xl/workbook.bin" not in names else OLD_OFFICE
            return kind_of_office  # type: ignore[return-value]
    if not names and suffix in (".xlsx", ".xlsm", ".ods"):
        return "ods" if suffix == ".ods" else "xlsx"
    return _BY_SUFFIX.get(suffix, PACKED)
