"""`--lexicon FILE`: pronunciations of names and terms, as a table of two columns separated by tabs, or as YAML.

Siobhan	Shivawn
GPT-4: gee pee tee four     # the same as YAML

A YAML file must be one mapping of texts to texts. Its values are plain texts: `NO` is not a truth value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from voxcli.errors import InputError, ManifestError, quoted, reason_of, shortened
from voxcli.files.read import read_named, read_regular
from voxcli.inputs.encoding import NotText, decode
from voxcli.text.lexicon import Lexicon

MAX_BYTES = 1 << 26
MAX_ENTRIES = 1_000_000
YAML_NAMES = (".yaml", ".yml", ".json")
# A first line of these words is a header, not an entry.
_WRITTEN = frozenset(("word", "words", "phrase", "term", "written", "grapheme", "graphemes", "entry"))
_SPOKEN = frozenset(("said", "spoken", "say", "says", "pronunciation", "alias", "replacement", "spelling"))
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C it takes a tenth of the time

Entry = tuple[int, str, str]  # line, written, spoken


def read_lexicon(path: Path, *, named: bool = False) -> Lexicon:
    """Read a lexicon. Raises InputError, one line with the file and line number, if it can't be used.

    named: the path comes from the command line, where it may be a pipe.
    """
    try:
        data = (read_named if named else read_regular)(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else error
        raise InputError(f"can't read the lexicon {path}: {reason}") from error
    try:
        text = decode(data, f"the lexicon {path}").text
    except NotText:
        raise InputError(f"the lexicon {path} is no text: it is a table with tabs, or YAML") from None
    except ManifestError as error:
        raise InputError(str(error)) from None
    lexicon = Lexicon(source=path)
    try:
        for line, written, spoken in _entries(path, text):
            _add(lexicon, line, written, spoken)
    except _WrongLine as error:
        raise InputError(f"lexicon {path}, line {error.line}: {error}") from None
    if not len(lexicon):
        raise InputError(f"the lexicon {path} has no entries")
    return lexicon


def _add(lexicon: Lexicon, line: int, written: str, spoken: str) -> None:
    try:
        lexicon.add(written, spoken)
    except InputError as error:
        raise _WrongLine(line, str(error)) from None
    if len(lexicon) > MAX_ENTRIES:
        raise _WrongLine(line, f"more than {MAX_ENTRIES:,} entries")


class _WrongLine(InputError):
    def __init__(self, line: int, message: str):
        self.line = line
        super().__init__(message)


def _entries(path: Path, text: str) -> Iterator[Entry]:
    suffix = path.suffix.lower()
    if suffix in YAML_NAMES:
        return _yaml(text)
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    return _table(text) if suffix == ".tsv" or "\t" in first or ":" not in first else _yaml(text)


def _table(text: str) -> Iterator[Entry]:
    first = True
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        while len(cells) > 2 and not cells[-1]:
            cells.pop()
        if len(cells) == 1:
            raise _WrongLine(number, f"no tab between the word and its pronunciation: {quoted(line)}")
        if len(cells) > 2:
            raise _WrongLine(number, f"{len(cells)} cells; a lexicon has two, the word and its pronunciation")
        if not (first and cells[0].lower() in _WRITTEN and cells[1].lower() in _SPOKEN):
            yield number, cells[0], cells[1]
        first = False


def _yaml(text: str) -> Iterator[Entry]:
    """Read YAML by events: without nesting, and without aliases, by which a few lines can fill all memory."""
    waiting: list[Any] = []
    depth = started = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.MappingStartEvent) and not depth:
                depth = 1
            elif isinstance(event, yaml.ScalarEvent) and depth:
                started = line if not waiting else started
                waiting.append(event)
            elif isinstance(event, yaml.NodeEvent):
                what = quoted(shortened(waiting[0].value)) if waiting else "the file"
                raise _WrongLine(line, f"{what}: only lines `word: pronunciation` are allowed")
            elif isinstance(event, yaml.DocumentStartEvent) and depth:
                raise _WrongLine(line, "a second document")
            if len(waiting) == 2:
                written, spoken = waiting
                yield started, written.value, spoken.value
                waiting.clear()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or reason_of(error)
        raise _WrongLine(mark.line + 1 if mark else 1, f"not YAML that can be used: {shortened(reason, 300)}") from None
