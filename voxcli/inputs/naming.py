"""Names of files and tags that are made of the fields of a line: `--name-template` and `--tag`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from voxcli.errors import InputError, quoted
from voxcli.files.names import safe_name
from voxcli.inputs.rows import InputRow
from voxcli.jobs.tags import Tags
from voxcli.jobs.template import Template, field_key
from voxcli.terminal import nearest

ID, LINE, TAKE, TITLE = "id", "line", "take", "title"
_MARK = "\0"  # stands for the id: no value contains it


class Names:
    """template: of paths in the output folder, without the extension; None: files are named after their ids."""

    def __init__(self, template: Template | None, tags: Tags | None):
        self.template = template
        self.tags = tags
        self._used = {field_key(field): field for each in (template, tags) if each is not None for field in each.fields}
        self._seen = {ID, LINE, TAKE}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are used, by `field_key`."""
        return (*self._used, *((TITLE,) if self.tags is not None else ()))

    def values(self, identity: str, row: InputRow) -> dict[str, str]:
        """Return the fields of a row that are used, by `field_key`: its own, and further columns."""
        if not self.columns:
            return {}
        given = {field_key(name): value for fields in (row.extra, row.fields) for name, value in fields.items()}
        given |= {ID: identity, LINE: row.line, TAKE: 1}
        self._seen |= given.keys()
        return {name: _text(given.get(name)) for name in self.columns}

    def path(self, values: Mapping[str, str], extension: str) -> tuple[str, tuple[str, str] | None] | tuple[None, None]:
        """Return the path of a line's file, and what is around its id, if that is in the name once."""
        if self.template is None:
            return None, None
        path = self.template.filled(values, safe_name)
        if not path.rpartition("/")[2].strip():
            raise InputError(f"--name-template gives the file no name: {quoted(path)}; add a field such as {{id}}")
        path += extension
        marked = self.template.filled(
            {**values, ID: _MARK}, lambda value: value if value == _MARK else safe_name(value)
        )
        before, mark, after = (marked + extension).partition(_MARK)
        in_the_name = mark and "/" not in after and _MARK not in after
        return path, (before, after) if in_the_name else None

    def unknown(self) -> Iterator[str]:
        """Yield a message for each field that no line has."""
        for name, field in self._used.items():
            if name not in self._seen:
                guess = nearest(name, self._seen)
                known = f"did you mean {quoted(guess)}?" if guess else f"there are {', '.join(sorted(self._seen))}"
                yield f"no line has a field {quoted(field)}, which {self._option(name)} names; {known}"

    def _option(self, name: str) -> str:
        in_template = self.template is not None and name in map(field_key, self.template.fields)
        return "--name-template" if in_template else "--tag"


def _text(value: Any) -> str:
    return "" if value is None else str(value)
