"""What bytes from strangers may do to the readers: be read, or be refused by an error of our tree. Nothing else.

Each target takes any bytes and raises what a bug would: an AssertionError for a promise that does not hold, or an error
that nobody foresaw. `test_targets.py` runs them on known inputs and on what hypothesis thinks of, `fuzz.py` for as long
as one likes on what libFuzzer finds by coverage.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.inputs import sheets
from voxcli.audio.read import read_voice
from voxcli.cli.text_options import TextOptions
from voxcli.errors import MAX_MESSAGE, AudioError, InputError, ManifestError
from voxcli.inputs.columns import Columns
from voxcli.inputs.document import AS_IT_IS, FORMATS, InputOptions
from voxcli.inputs.manifest import read_manifest
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.inputs.sheetcount import Budget, Unreadable
from voxcli.inputs.sheetguard import Kind, repacked
from voxcli.inputs.spreadsheet import read_spreadsheet
from voxcli.jobs.job import Job
from voxcli.jobs.plan import make_plan, prepare
from voxcli.jobs.settings import MIN_CHARS, Settings
from voxcli.terminal import one_line
from voxcli.text.clean import clean, finish, is_speakable
from voxcli.text.description import split_control
from voxcli.text.script import ScriptOptions, read_script
from voxcli.text.scripts import unknown_scripts
from voxcli.text.split import split

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", "", ".md", ".srt", ".vtt", ".xlsx", ".ods", ".html")
OPTIONS = (
    AS_IT_IS,
    InputOptions(strict=True),
    InputOptions(mapping={"text": "Line", "voice": "Character"}),
    *(InputOptions(encoding=name) for name in ("windows-1252", "utf-16", "shift_jis", "utf-7")),
    *(InputOptions(format=name) for name in FORMATS),
)
RATE = 16_000
LONGEST_S = 60.0
LONGEST_RUN = 20_000


def _scratch() -> Path:
    """A folder of this process for the files that the readers want, in memory where there is such a place."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="voxcpm2-fuzz-", dir=shared if os.access(shared, os.W_OK) else None))


SCRATCH = _scratch()


def manifest(data: bytes) -> None:
    """The first byte chooses the file's name, the second the options, the rest is the file.

    Jobs write inside the folder, each to its own file, and what else a line holds can be kept.
    """
    if len(data) < 2:
        return
    path = SCRATCH / f"lines{SUFFIXES[data[0] % len(SUFFIXES)]}"
    path.write_bytes(data[2:])
    out = SCRATCH / "out"
    try:
        found = read_manifest(str(path), out, options=OPTIONS[data[1] % len(OPTIONS)])
    except ManifestError as error:
        assert error.problems
        for problem in error.problems:
            told_in_a_line(str(problem))
        return
    except InputError as error:
        told_in_a_line(str(error))
        return
    jobs = found.jobs
    assert jobs
    for line in found.lines():
        told_in_a_line(line)
    json.dumps([dict(job.extra) for job in jobs], ensure_ascii=False, allow_nan=False).encode()
    assert all(inside(job.out, out) for job in jobs), [str(job.out) for job in jobs]
    assert len({str(job.out).casefold() for job in jobs}) == len(jobs)
    assert len({job.id.casefold() for job in jobs}) == len(jobs)
    plan = make_plan([job for job in jobs if not job.settings.normalize])
    for job, refused in plan.refused:
        told_in_a_line(f"{job}: {refused}")
    for utterance in plan.utterances:
        assert utterance.segments and utterance.expected_s > 0
        assert all(is_speakable(segment.text) for segment in utterance.segments)
        json.dumps([segment.text for segment in utterance.segments], ensure_ascii=False).encode()


def prose(data: bytes) -> None:
    """The same for a file of one text, as `synth --file` reads it."""
    if len(data) < 2:
        return
    path = SCRATCH / f"text{SUFFIXES[data[0] % len(SUFFIXES)]}"
    path.write_bytes(data[2:])
    options = OPTIONS[data[1] % len(OPTIONS)]
    try:
        TextOptions(None, path, options.format, options.encoding).read().encode()
    except InputError as error:
        told_in_a_line(str(error))


def workbook(data: bytes) -> None:
    """The first byte chooses the kind; then, with zeros between, the XML of a sheet and that of the shared strings.

    What is counted of them is no less than what the library makes of them.
    """
    from python_calamine import CalamineWorkbook

    kind: Kind = "ods" if data[:1] in (b"", b"\0") else "xlsx"
    sheet, strings, links = (*data[1:].split(b"\0", 2), b"", b"", b"")[:3]
    if kind == "ods":
        packed = sheets.zipped(sheets.ods_parts({}) | {"content.xml": sheet}, zipfile.ZIP_STORED)
    else:
        parts = sheets.xlsx_parts({"A": []}) | {"xl/worksheets/sheet1.xml": sheet}
        parts |= {"xl/sharedStrings.xml": strings} if strings else {}
        parts |= {"xl/_rels/workbook.xml.rels": links} if links else {}
        packed = sheets.zipped(parts, zipfile.ZIP_STORED)
    budget = Budget()
    before = budget.cells, budget.characters
    try:
        content = repacked(packed, kind, budget)
    except Unreadable as error:
        told_in_a_line(str(error))
        return
    try:
        for row in read_spreadsheet("lines", packed, kind, Columns(), Remarks()):
            told_in_a_line(str(row)) if not isinstance(row, InputRow) else json.dumps(row.fields)
    except InputError as error:
        told_in_a_line(str(error))
        return
    opened = CalamineWorkbook.from_filelike(io.BytesIO(content))
    cells = characters = 0
    for title in opened.sheet_names:
        found = opened.get_sheet_by_name(title)
        cells += found.total_height * found.total_width
        texts = (cell for row in found.to_python() for cell in row if isinstance(cell, str))
        characters += sum(map(len, texts))
    assert cells <= before[0] - budget.cells, "cells"
    assert characters <= before[1] - budget.characters + len(sheet), "characters"


def text(data: bytes) -> None:
    """The first byte is the bound, the rest the text. Pieces keep to the bound and lose nothing."""
    if not data:
        return
    bound, given = MIN_CHARS + data[0], data[1:].decode(errors="replace")
    for paragraphs in (False, True):
        cleaned = clean(given, paragraphs=paragraphs)
        assert len(cleaned) <= 20 * len(given) + 20, "cleaning drops and unifies, it does not blow up"
        segments = split(cleaned, bound)
        assert all(0 < len(segment.text) <= bound for segment in segments)
        assert squeezed("".join(segment.text for segment in segments)) == squeezed(cleaned)
    description, body = split_control(cleaned)
    finish(body)
    unknown_scripts(body)
    told_in_a_line(description)
    try:
        script = read_script(given, options=ScriptOptions(bound, descriptions=False))
    except InputError as error:  # its pauses are too long
        told_in_a_line(str(error))
        return
    assert all(is_speakable(piece.text) and piece.pause_s >= 0 for piece in script.segments)
    assert letters("".join(piece.written for piece in script.segments)) == letters(script.body)


def letters(words: str) -> str:
    return "".join(filter(str.isalnum, words))


def repeated(data: bytes) -> None:
    """The first byte is the bound, the second how often; then, with zeros between, what comes before, what is repeated
    and what comes after. As a text it is planned, as a value it is refused or used, and nothing of it takes long: a
    run that is guided by coverage stops an input after ten seconds.
    """
    if len(data) < 2:
        return
    head, unit, tail = (*(part.decode(errors="replace") for part in data[2:].split(b"\0", 2)), "", "", "")[:3]
    words = head[:100] + unit[:100] * (data[1] * LONGEST_RUN // 255 // max(1, len(unit[:100]))) + tail[:100]
    try:
        prepare(Job(id="a", text=words, out=Path("a.wav"), settings=Settings(max_chars=MIN_CHARS + data[0])))
    except InputError as error:
        told_in_a_line(str(error))
    told_in_a_line(words)
    path = SCRATCH / "lines.jsonl"
    for row in (
        {"text": words, "out": words},
        {"text": "a", "voice": words, "control": words},
        {"text": "a", words: 1},
    ):
        path.write_text(json.dumps(row))
        try:
            make_plan(read_manifest(str(path), SCRATCH / "out").jobs)
        except InputError as error:
            assert len(str(error)) <= MAX_MESSAGE
            told_in_a_line(str(error))


def audio(data: bytes) -> None:
    """The bytes are the file. A voice is mono, finite, not silent and as long as a voice may be."""
    path = SCRATCH / "voice"
    path.write_bytes(data)
    try:
        voice = read_voice(path, RATE)
    except AudioError as error:
        assert str(path) in str(error)
        told_in_a_line(str(error))
        return
    assert voice.samples.dtype == np.float32 and voice.samples.ndim == 1
    assert 1.0 <= voice.duration_s <= LONGEST_S + 0.1
    assert np.isfinite(voice.samples).all() and np.abs(voice.samples).max() > 0


def told_in_a_line(message: str) -> None:
    """As the command line prints it: one line that any terminal takes."""
    shown = one_line(message)
    assert all(char.isprintable() or char > "\x9f" for char in shown), shown
    shown.encode()


def inside(path: Path, folder: Path) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def squeezed(words: str) -> str:
    return "".join(words.split())


TARGETS: dict[str, Callable[[bytes], None]] = {
    "manifest": manifest,
    "prose": prose,
    "workbook": workbook,
    "text": text,
    "repeated": repeated,
    "audio": audio,
}
