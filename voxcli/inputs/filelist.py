"""File lists of speech data sets: `id|text`, `id|speaker|text` or `id|text|normalized`, without a header.

Quotes are plain characters. The text column is detected from the content of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from voxcli.errors import Problem
from voxcli.inputs.rows import InputRow, Remarks
from voxcli.terminal import counted

MAX_COLUMNS = 8
SAMPLE_ROWS = 1000
_SUFFIX = r"\.(?:wav|flac|mp3|ogg|opus|m4a|npy|pt)"
_FILE_LIKE = re.compile(rf"(?=.*[\d/\\_])[\w./\\~+-]{{1,255}}|[\w./\\~+-]{{1,250}}{_SUFFIX}", re.IGNORECASE)
_AUDIO = re.compile(_SUFFIX, re.IGNORECASE)
_LABEL = re.compile(r"[\w-]{1,64}")
SIMILAR = 0.5  # minimum similarity of a text and its normalized form


def is_filelist(text: str) -> bool:
    """Whether all lines have the same few bars and begin with different file names."""
    first = next(_sample(text), [])
    if len(first) < 2 or not _FILE_LIKE.fullmatch(first[0]):
        return False
    rows = list(_sample(text))
    widths = {len(cells) for cells in rows}
    names = {cells[0].casefold() for cells in rows}
    return (
        len(widths) == 1
        and 2 <= len(rows[0]) <= MAX_COLUMNS
        and len(names) == len(rows)
        and all(_FILE_LIKE.fullmatch(cells[0]) for cells in rows)
        and (len(rows) > 1 or bool(_AUDIO.search(rows[0][0])))
        and any(any(char.isalpha() for char in cell) for cell in rows[0][1:])
    )


def read_filelist(text: str, remarks: Remarks) -> Iterator[InputRow | Problem]:
    """Yield its rows. The id is the file name without folder and suffix; columns that are not spoken are `extra`."""
    rows = list(_sample(text))
    width = len(rows[0]) if rows else 0
    place = _text_column([cells for cells in rows if len(cells) == width])
    if place is None:
        yield Problem(
            _first_line(text),
            f"the text may be in several of the {width} columns: name them in a first line, such as "
            f"{'|'.join(['id', 'text', *(f'other{count}' for count in range(1, width - 1))])}",
        )
        return
    remarks.names = tuple(
        "id" if each == 0 else "text" if each == place else f"column {each + 1}" for each in range(width)
    )
    whole = _needs_folders(text)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != width:
            yield Problem(number, f"{counted(len(cells), 'cell')}, the lines before have {width}")
            continue
        extra = {remarks.names[each]: cells[each] for each in range(1, width) if each != place and cells[each]}
        identity = _identity(cells[0], whole)
        fields = {"id": identity, "text": cells[place]} if identity else {"text": cells[place]}
        yield InputRow(number, fields, False, extra)


def _sample(text: str) -> Iterator[list[str]]:
    count = start = 0
    while start <= len(text) and count < SAMPLE_ROWS:
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        start = end + 1 if end >= 0 else len(text) + 1
        if line.strip():
            count += 1
            yield [cell.strip() for cell in line.split("|", MAX_COLUMNS)]


def _first_line(text: str) -> int:
    return text.count("\n", 0, len(text) - len(text.lstrip())) + 1


def _text_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the only column that holds no labels, or the normalized form of a text. None if that is not unique."""
    if not rows or len(rows[0]) < 2:
        return None
    if len(rows[0]) == 2:
        return 1
    prose = [place for place in range(1, len(rows[0])) if not all(_LABEL.fullmatch(row[place]) for row in rows)]
    if len(prose) == 1:
        return prose[0]
    if len(prose) == 2 and all(_alike(row[prose[0]], row[prose[1]]) for row in rows[:100]):
        return prose[1]
    return None


def _alike(text: str, normalized: str) -> bool:
    words, others = text[:300].lower().split(), normalized[:300].lower().split()
    return not words or not others or SequenceMatcher(None, words, others, autojunk=False).ratio() >= SIMILAR


def _needs_folders(text: str) -> bool:
    """Whether files in different folders have the same name."""
    names = [_identity(line.partition("|")[0].strip(), False).casefold() for line in text.split("\n") if line.strip()]
    return len(set(names)) < len(names)


def _identity(name: str, whole: bool) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    printable = path.as_posix() if whole else path.name
    return printable[: -len(path.suffix)] if _AUDIO.fullmatch(path.suffix) else printable
