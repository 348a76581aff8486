"""Open an input file, stdin or a pipe: detect its format, decode it, and read its rows or its whole text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from voxcli.errors import InputError, Problem, quoted
from voxcli.files.read import read_named, read_stream
from voxcli.inputs.captions import read_cues
from voxcli.inputs.columns import Columns
from voxcli.inputs.detect import Format, detect
from voxcli.inputs.encoding import NotText, decode
from voxcli.inputs.filelist import read_filelist
from voxcli.inputs.markdown import read_markdown, read_whole
from voxcli.inputs.rows import InputRow, Remarks, read_json, read_json_lines, read_lines
from voxcli.inputs.signatures import Refusal, binary_kind, unreadable_kind
from voxcli.inputs.spreadsheet import read_spreadsheet
from voxcli.inputs.ssml import read_ssml
from voxcli.inputs.tables import Layout, find_layout, read_table
from voxcli.terminal import counted

STDIN = "-"
LOST = "\ufffd"
FORMATS: tuple[Format, ...] = get_args(Format)
MAX_COLUMNS_SHOWN = 12


@dataclass(frozen=True)
class InputOptions:
    """The options of a command for its input.

    format:    one of FORMATS; None: detected.
    encoding:  None: detected.
    mapping:   {field: column or JSON name}.
    strict:    an unknown column or field is a problem.
    """

    format: Format | None = None
    encoding: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False


AS_IT_IS = InputOptions()


def format_named(name: str | None) -> Format | None:
    """Return the format with this name. Raises InputError if there is none."""
    if name is None or name in FORMATS:
        return name
    raise InputError(f"--input-format is one of {', '.join(FORMATS)}, not {quoted(name)}")


@dataclass(frozen=True)
class Document:
    """An input whose format is known. Its rows, or its text as a whole, can be read once.

    name:     for messages.
    folder:   base of relative paths in it.
    columns:  maps its columns or JSON names to fields, and counts the unknown ones as rows are read.
    encoding: its encoding unless that is UTF-8.
    remarks:  what was left out, complete when its rows have been read.
    """

    name: str
    folder: Path
    format: Format
    columns: Columns
    text: str = ""
    data: bytes = b""
    encoding: str | None = None
    remarks: Remarks = field(default_factory=Remarks)

    def rows(self) -> Iterator[InputRow | Problem]:
        """Yield its rows in order. Raises InputError for a spreadsheet that can't be opened."""
        text, columns, remarks = self.text, self.columns, self.remarks
        self._note_lost_letters()
        match self.format:
            case "jsonl":
                return read_json_lines(text, remarks)
            case "json":
                return read_json(text, remarks)
            case "csv" | "tsv":
                usual = "\t" if self.format == "tsv" else ","
                return read_table(text, find_layout(text, columns, usual) or Layout(usual), columns, remarks)
            case "filelist":
                return read_filelist(text, remarks)
            case "markdown":
                return read_markdown(text, remarks)
            case "srt" | "vtt":
                return read_cues(text, remarks)
            case "xlsx" | "ods":
                return read_spreadsheet(self.name, self.data, self.format, columns, remarks)
            case "ssml":
                return read_ssml(text, remarks)
            case "text":
                return read_lines(text, remarks)

    def prose(self) -> str:
        """Return it as one text, with blocks and cues as paragraphs and lines. Raises InputError if it has rows."""
        self._note_lost_letters()
        match self.format:
            case "text":
                return self.text
            case "markdown":
                return read_whole(self.text, self.remarks)
            case "ssml":
                return "\n\n".join(self._texts(read_ssml(self.text, self.remarks)))
            case "srt" | "vtt":
                return "\n".join(self._texts(read_cues(self.text, self.remarks)))
        printable = self.name if self.name != "stdin" else STDIN
        raise InputError(
            f"{self.name} is {_kind(self.format)}, not one text: speak its lines with "
            f"`voxcpm2 batch {printable} -o FOLDER`"
            + ("" if self.data else ", or take it as it is with --input-format text")
        )

    def description(self, rows: int | None) -> str:
        """Describe the detected format: `a table of 40 rows, columns id, text, voice`. rows: None for one text."""
        unit = {"text": "line", "markdown": "paragraph", "ssml": "text", "srt": "cue", "vtt": "cue"}
        unit |= {"jsonl": "line", "json": "object"}
        what, names = _kind(self.format), self.remarks.names
        if rows is not None:
            what += f" of {counted(rows, unit.get(self.format, 'row'))}"
        if names:
            printable = ", ".join(names[:MAX_COLUMNS_SHOWN])
            more = len(names) - MAX_COLUMNS_SHOWN
            what += f", columns {printable}{f' and {more} more' if more > 0 else ''}"
        return what + (f", read as {self.encoding}" if self.encoding else "")

    def notes(self) -> list[str]:
        """Report what was left out and which columns are unknown."""
        left_out = [f"{counted(count, what)} left out" for what, count in self.remarks.left_out.items()]
        return [*left_out, *self.remarks.notes, *self.columns.notes()]

    def _note_lost_letters(self) -> None:
        """Report replacement characters: another program has put them in place of letters that it could not decode."""
        if lost := self.text.count(LOST):
            line = self.text.count("\n", 0, self.text.index(LOST)) + 1
            self.remarks.notes.append(
                f"{counted(lost, 'letter')} lost before the file was saved (U+FFFD), the first in line {line}"
            )

    def _texts(self, rows: Iterator[InputRow | Problem]) -> Iterator[str]:
        for row in rows:
            if isinstance(row, Problem):
                raise InputError(f"{self.name}: {row}")
            yield row.fields["text"]


def open_document(
    source: str, max_bytes: int, options: InputOptions, what: str = "", known: Sequence[str] = ()
) -> Document:
    """Read a file, or stdin (`-`). Raises InputError that names its kind if it can't be used.

    what:  put before its name in messages.
    known: names of columns that are no fields and have a use.
    """
    columns = Columns(options.mapping, strict=options.strict, known=known)
    name, folder, data = _load(source, max_bytes, what)
    suffix = Path(source).suffix.lower() if source != STDIN else ""
    given = options.format
    if given is None or given in ("xlsx", "ods"):
        kind = binary_kind(data, suffix)
        if isinstance(kind, Refusal):
            raise _refused(name, source, kind)
        if kind is not None:
            return Document(name, folder, kind, columns, data=data)
        if given is not None:
            raise InputError(f"{name} is no spreadsheet: leave out --input-format {given}")
    try:
        decoded = decode(data, name, options.encoding)
    except NotText:
        raise _refused(name, source, unreadable_kind(suffix)) from None
    found = given or detect(decoded.text, suffix, columns)
    if isinstance(found, Refusal):
        raise _refused(name, source, found, "--input-format text takes it as it is")
    return Document(name, folder, found, columns, text=decoded.text, encoding=decoded.encoding)


def _load(source: str, max_bytes: int, what: str) -> tuple[str, Path, bytes]:
    """Return the name of the input for messages, its folder and its content."""
    path = Path(source)
    try:
        if source == STDIN:
            return "stdin", Path(), read_stream(sys.stdin.buffer, max_bytes)
        return source, path.parent, read_named(path, max_bytes)
    except (OSError, ValueError) as error:
        printable = "stdin" if source == STDIN and not what else source
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise InputError(f"can't read {what}{printable}: {reason}") from error


def _refused(name: str, source: str, kind: Refusal, more: str = "") -> InputError:
    target = f"{Path(source).stem or 'text'}.txt"
    if target == Path(source).name:
        target = f"{Path(source).stem}-text.txt"
    remedy = kind.remedy.replace("FILE.txt", target).replace("FILE", source)
    return InputError(f"{name} is {kind.what}: {remedy}{more and f'; {more}'}")


def _kind(named: Format) -> str:
    return {
        "jsonl": "JSON Lines",
        "json": "JSON",
        "csv": "a table",
        "tsv": "a table",
        "filelist": "a list of recordings and texts",
        "markdown": "Markdown",
        "ssml": "SSML",
        "srt": "SubRip subtitles",
        "vtt": "WebVTT subtitles",
        "xlsx": "a spreadsheet",
        "ods": "a spreadsheet",
        "text": "plain text",
    }[named]
