"""Templates such as "{character}/{id}": fields of a line in braces, all else as it is. `{{` and `}}` are braces."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter

from voxcli.errors import InputError, quoted


@dataclass(frozen=True)
class Template:
    """parts: text as it is, and the name of the field after it; empty for none."""

    parts: tuple[tuple[str, str], ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(field for _, field in self.parts if field))

    def filled(self, values: Mapping[str, str], convert: Callable[[str], str] = str) -> str:
        """Put the values in place of the fields; the value of a field that has none is empty.

        values:  by the `field_key` of their fields.
        convert: applied to each value.
        """
        return "".join(
            text + (convert(values.get(field_key(field), "")) if field else "") for text, field in self.parts
        )


def field_key(name: str) -> str:
    """Return a key that is equal for names of one field or column: in any case, with spaces, hyphens or underscores."""
    return "_".join(unicodedata.normalize("NFC", name).casefold().replace("-", " ").replace("_", " ").split())


def parse_template(text: str, option: str) -> Template:
    """Parse a template. option: names it in errors. Raises InputError."""
    try:
        parts = [(before, field, spec, how) for before, field, spec, how in Formatter().parse(text)]
    except ValueError as error:
        raise InputError(f"{option}: a brace is missing or left over in {quoted(text)}; {{{{ is a brace") from error
    if any(field == "" or spec or how for _, field, spec, how in parts):
        raise InputError(f"{option}: braces contain the name of a field, such as {{id}}, not more: {quoted(text)}")
    return Template(tuple((before, (field or "").strip()) for before, field, _, _ in parts))
