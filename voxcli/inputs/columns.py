"""Map names of columns and of JSON fields to fields of a line, in any case, or by `--map`. All others are `extra`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voxcli.errors import InputError, quoted, shortened
from voxcli.inputs.schema import FIELD_NAMES
from voxcli.jobs.template import field_key
from voxcli.terminal import nearest

MAX_NAMES = 1000  # different names that are cached and counted: JSON may have new ones in each line
MAX_DEPTH = 20  # nesting of a value that is kept
MAX_LISTED = 20  # names in one message
MAX_SHOWN = 40  # characters of a name
# Other names of the text column: used in a hint, never as the text column.
_TEXTS = ("line", "sentence", "transcript", "transcription", "utterance", "dialogue", "content", "script", "prompt")


def parse_map(values: Iterable[str]) -> dict[str, str]:
    """Parse `text=Line,voice=Character` into {field: column}. Raises InputError."""
    found: dict[str, str] = {}
    for value in values:
        for pair in re.split(r",(?=\s*\w+\s*=)", value):
            field, equals, column = (part.strip() for part in pair.partition("="))
            if not equals or not field or not column:
                raise InputError(f"--map takes FIELD=COLUMN, such as text=Line,voice=Character, not {quoted(pair)}")
            if field not in FIELD_NAMES:
                raise InputError(f"--map {shortened(pair)}: there is no field {quoted(field)}{hint(field)}")
            if field in found:
                raise InputError(
                    f"--map names two columns for {quoted(field)}: {quoted(found[field])} and {quoted(column)}"
                )
            found[field] = column
    return found


@dataclass(frozen=True)
class Header:
    """The columns of a table: `fields` and `extra` are (index of the cell, name)."""

    fields: tuple[tuple[int, str], ...]
    extra: tuple[tuple[int, str], ...]
    width: int
    names: tuple[str, ...]


class Columns:
    """mapping: {field: column} of `--map`.  strict: an unknown name is a problem.  known: names of other columns."""

    def __init__(self, mapping: Mapping[str, str] | None = None, *, strict: bool = False, known: Sequence[str] = ()):
        self.mapping = dict(mapping or {})
        self.strict = strict
        self.known = known
        self.unused: Counter[str] = Counter()
        self._mapped = {field_key(column): field for field, column in self.mapping.items()}
        self._known: dict[str, str | None] = {}

    def is_known(self, name: str) -> bool:
        """True for a column that is no field and has a use."""
        return field_key(name) in self.known

    def field(self, name: str) -> str | None:
        """Return the field that a column or key stands for; None if there is none."""
        try:
            return self._known[name]
        except KeyError:
            pass
        key = field_key(name)
        found = self._mapped.get(key)
        if found is None and key in FIELD_NAMES and key not in self.mapping:
            found = key
        if len(self._known) < MAX_NAMES:
            self._known[name] = found
        return found

    def split(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Separate the fields of a JSON object from everything else. Raises InputError for two names of one field."""
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, value in values.items():
            field = self.field(name)
            if field is None:
                extra[name] = value if isinstance(value, str | int) else _kept(name, value)
                self._note(name)
            elif field in fields:
                raise InputError(f"two names of the field {quoted(field)} in one line, one of them {quoted(name)}")
            else:
                fields[field] = value
        return fields, extra

    def header(self, cells: Sequence[str]) -> Header:
        """Read a header row. Raises InputError if it has no text column, or two columns with one name."""
        names = [cell.strip() for cell in cells]
        while names and not names[-1]:
            names.pop()
        fields: list[tuple[int, str]] = []
        extra: list[tuple[int, str]] = []
        taken: dict[str, str] = {}
        for place, name in enumerate(names):
            field = self.field(name) if name else None
            title = name or f"column {place + 1}"
            first = taken.setdefault(field or f"={title}", title)
            if first is not title:
                raise InputError(
                    f"columns {quoted(first)} and {quoted(title)} are both the field {quoted(field)}: "
                    f"choose one with --map {field}=COLUMN"
                    if field and first != title
                    else f"column {quoted(name)} stands twice in the header"
                )
            (fields if field else extra).append((place, field or title))
        self._check(names, {field for _, field in fields})
        for _, name in extra:
            self._note(name)
        return Header(tuple(fields), tuple(extra), len(names), tuple(name for name in names if name))

    def _check(self, names: Sequence[str], fields: set[str]) -> None:
        for field, column in self.mapping.items():
            if field not in fields:
                raise InputError(f"--map {field}={column}: no such column; {_columns(names)}")
        if "text" not in fields:
            likely = likely_text(names)
            raise InputError(
                f"no column 'text'; {_columns(names)}: is the header row missing? Name the columns in the first line, "
                f"or the one to speak with --map text={shortened(likely) if likely else 'COLUMN'}"
            )
        if self.strict:
            unknown = [name for name in names if name and self.field(name) is None and not self.is_known(name)]
            if unknown:
                raise InputError(f"unknown column {quoted(unknown[0])}{hint(unknown[0])} (--strict)")

    def _note(self, name: str) -> None:
        if not self.is_known(name) and (name in self.unused or len(self.unused) < MAX_NAMES):
            self.unused[name] += 1

    def notes(self) -> list[str]:
        """Report the names that are no field."""
        if not self.unused:
            return []
        title = [f"{shortened(name)}{_like(name)}" for name in list(self.unused)[:MAX_LISTED]]
        more = f" and {len(self.unused) - MAX_LISTED} more" if len(self.unused) > MAX_LISTED else ""
        what = "field" if len(self.unused) == 1 else "fields"
        return [f"unknown {what} kept as extra: {', '.join(title)}{more}"]


def _kept(name: str, value: Any, depth: int = 0) -> Any:
    """Return a value in a form that results can hold: JSON has only finite numbers. Raises InputError."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not isinstance(value, list | dict):
        return value
    if depth == MAX_DEPTH:
        raise InputError(f"{quoted(name)} is nested too deeply to be kept")
    if isinstance(value, list):
        return [_kept(name, each, depth + 1) for each in value]
    return {key: _kept(name, each, depth + 1) for key, each in value.items()}


def hint(name: str, known: Sequence[str] = FIELD_NAMES) -> str:
    """Suggest the name that an unknown one was probably meant to be."""
    close = _close(name, known)
    return f": did you mean {close!r}?" if close else f": known are {', '.join(known)}"


def likely_text(names: Iterable[str]) -> str | None:
    """Return the name that is probably the text column; None if there is none."""
    return next((name for name in names if field_key(name[:MAX_SHOWN]) in _TEXTS or _close(name, ("text",))), None)


def _like(name: str) -> str:
    close = _close(name)
    return f" (did you mean {close}?)" if close else ""


def _close(name: str, known: Sequence[str] = FIELD_NAMES) -> str | None:
    return nearest(field_key(name[:MAX_SHOWN]), known)


def _columns(names: Sequence[str]) -> str:
    title = ", ".join(quoted(name) for name in names[:MAX_LISTED])
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"the first line is {title}{more}" if names else "the first line is empty"
