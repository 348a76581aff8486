"""Detect the format of a text: first from its content, then from the file name; the same for files, stdin and pipes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

from voxcli.inputs import refusals
from voxcli.inputs.beginning import MAX_BEGINNING
from voxcli.inputs.captions import is_timing
from voxcli.inputs.columns import Columns
from voxcli.inputs.filelist import is_filelist
from voxcli.inputs.lookalikes import is_markdown, lookalike
from voxcli.inputs.markdown import SUFFIXES as MARKDOWN
from voxcli.inputs.rows import DECODER
from voxcli.inputs.signatures import Refusal
from voxcli.inputs.ssml import is_ssml
from voxcli.inputs.tables import find_layout, is_table

Format = Literal["jsonl", "json", "csv", "tsv", "filelist", "text", "markdown", "ssml", "srt", "vtt", "xlsx", "ods"]

_BY_SUFFIX: Mapping[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ssml": "ssml",
    **dict.fromkeys(MARKDOWN, "markdown"),
}
_NOT_READ: Mapping[str, Refusal] = {
    **dict.fromkeys((".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env"), refusals.SETTINGS),
    **dict.fromkeys((".po", ".pot", ".properties", ".strings", ".resx", ".xliff", ".xlf"), refusals.TRANSLATIONS),
    **dict.fromkeys(
        (".py", ".js", ".ts", ".css", ".c", ".h", ".cpp", ".java", ".rs", ".go", ".sh", ".ps1", ".rb", ".php"),
        refusals.PROGRAM,
    ),
    ".sql": refusals.STATEMENTS,
    **dict.fromkeys((".html", ".htm", ".xhtml"), refusals.HTML),
    **dict.fromkeys((".xml", ".fb2", ".svg"), refusals.XML),
    ".tex": refusals.LATEX,
    **dict.fromkeys((".rst", ".org", ".adoc", ".asciidoc", ".textile", ".wiki", ".mediawiki"), refusals.MARKUP),
    **dict.fromkeys((".fountain", ".fdx"), refusals.SCREENPLAY),
    **dict.fromkeys((".rpy", ".ink", ".twee", ".tw", ".yarn"), refusals.GAME),
    **dict.fromkeys((".ass", ".ssa", ".sbv", ".sub", ".lrc", ".ttml", ".smi", ".textgrid"), refusals.SUBTITLES),
    **dict.fromkeys((".eml", ".mbox"), refusals.MAIL),
    **dict.fromkeys((".vcf", ".ics"), refusals.CARDS),
    ".bib": refusals.SETTINGS,
}
_PROLOG = r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*)*"
_HTML_START = re.compile(_PROLOG + r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_XML_START = re.compile(
    r"\s*<(?:\?xml|!DOCTYPE\s+(?!speak\b)|rss\b|feed\b|tt\b|TEI\b|FictionBook\b|svg\b)(?![^<]*<(?:speak|!DOCTYPE\s+speak)\b)"
)
_OTHER_CUES = re.compile(
    r"\s*(?:\[Script Info\]|\{\d+\}\{\d*\}|\d+:\d\d:\d\d\.\d{3},\d+:\d\d:\d\d\.\d{3}[ \t]*\n|\[\d\d:\d\d\.\d\d\d?\]"
    r"|\[[\d:.,]{5,12} --> [\d:.,]{5,12}\]|File type = \"ooTextFile\""
    r"|\[(?:ti|ar|al|by|au|length|offset|re|ve):[^\]\n]{0,200}\]|\[INFORMATION\])"
)
_VTT_START = re.compile(r"\s*WEBVTT(?:[ \t\n]|\Z)")
_ARRAY = re.compile(r'\s*\[\s*(?:\{\s*["\'}]|\]\s*\Z)')  # of objects, or empty
_OBJECT = re.compile(r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.)*\"\s*:|'(?:[^'\\\n]|\\.)*'\s*:)")


def detect(text: str, suffix: str, columns: Columns) -> Format | Refusal:
    """Return the format of a text, or why it is refused.

    suffix: of the file name, in lower case; empty if there is none, as for stdin.
    """
    return _by_content(text) or _by_name(text, suffix) or _by_shape(text, columns)


def _by_content(text: str) -> Format | Refusal | None:
    """Detect formats that have a signature."""
    beginning = text[:MAX_BEGINNING]
    if _HTML_START.match(beginning):
        return refusals.HTML
    if _XML_START.match(beginning):
        return refusals.XML
    if _VTT_START.match(beginning):
        return "vtt"
    lines = [line for line in beginning.split("\n") if line.strip()][:2]
    if any(is_timing(line) for line in lines[:1]) or (
        len(lines) > 1 and lines[0].strip().isdecimal() and is_timing(lines[1])
    ):
        return "srt"
    if _OTHER_CUES.match(beginning):
        return refusals.SUBTITLES
    if is_ssml(text):
        return "ssml"
    return _json_kind(text)


def _json_kind(text: str) -> Format | None:
    start = _past_comments(text)
    if text.startswith("{", start) and _OBJECT.match(text, start):
        return "json" if _spans_lines(text, start) else "jsonl"
    if _ARRAY.match(text) or (text.startswith("[", start) and _is_list(text)):
        return "json"
    return None


def _past_comments(text: str) -> int:
    """Return the index of the first character that is in no blank line, comment or indent."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if line.strip() and not line.lstrip().startswith("#"):
            return start + len(line) - len(line.lstrip())
        if end < 0:
            break
        start = end + 1
    return len(text)


def _spans_lines(text: str, start: int) -> bool:
    """Whether the JSON object at `start` spans several lines."""
    end = text.find("\n", start)
    try:
        return end >= 0 and DECODER.raw_decode(text, start)[1] > end
    except (ValueError, RecursionError):
        return False


def _is_list(text: str) -> bool:
    """Whether the whole text is a JSON array, unlike "[1] A note." or "[laughs] Hello."."""
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False
    except RecursionError:
        return True


def _by_name(text: str, suffix: str) -> Format | Refusal | None:
    named = _BY_SUFFIX.get(suffix)
    if named == "json":
        return "json" if text.lstrip().startswith("[") else "jsonl"
    if named == "csv" and is_filelist(text):
        return "filelist"
    return named or _NOT_READ.get(suffix)


def _by_shape(text: str, columns: Columns) -> Format | Refusal:
    """Detect formats without a signature from the form of their lines. Everything else is text."""
    if find_layout(text, columns) is not None:
        return "csv"
    if is_filelist(text):
        return "filelist"
    if is_table(text):
        return refusals.NO_TEXT_COLUMN
    return lookalike(text) or ("markdown" if is_markdown(text) else "text")
