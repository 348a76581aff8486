"""Convert values as programs write them: quoted numbers, whole floats, decimal commas, cells for no value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from voxcli.errors import quoted
from voxcli.inputs.schema import SettingFields

# What pandas, R and spreadsheets write for a missing value.
MISSING_IDS = frozenset({"NaN", "nan", "<NA>", "null", "NULL", "None", "NaT", "#N/A"})
MISSING = MISSING_IDS | {"NA", "N/A", "n/a", "-"}

INTEGERS = frozenset(name for name, field in SettingFields.model_fields.items() if field.annotation == int | None)
FLOATS = frozenset(name for name, field in SettingFields.model_fields.items() if field.annotation == float | None) | {
    "pause_after"
}
BOOLEANS = frozenset(name for name, field in SettingFields.model_fields.items() if field.annotation == bool | None)
NUMBERS = INTEGERS | FLOATS

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}(?:\.0{1,20})?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,3})?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]{1,20},[0-9]{1,20}")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def decimal_point(cell: str, *, strict: bool) -> str:
    """Return `2,5` as `2.5`. Raises ValueError, if `strict`, for `1.500`, which is ambiguous beside decimal commas."""
    if _DECIMAL_COMMA.fullmatch(cell):
        return cell.replace(",", ".")
    if strict and _THOUSANDS.fullmatch(cell):
        raise ValueError(f"{quoted(cell)} may be a fraction or thousands: write it without the point, or with a comma")
    return cell


def with_numbers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with unambiguous numbers and truth values converted. Others are unchanged."""
    return {name: _converted(name, value) for name, value in fields.items()}


def _converted(name: str, value: Any) -> Any:
    kind = type(value)
    if name in BOOLEANS and kind in (str, int, float):
        return _TRUTHS.get(_plain(value).lower(), value)
    if kind is str and name in NUMBERS:
        value = value.strip()
        if name in INTEGERS:
            return int(value.partition(".")[0]) if _INTEGER.fullmatch(value) else value
        return float(value) if _FLOAT.fullmatch(value) else value
    if kind is float and value.is_integer() and (name in INTEGERS or name == "id"):
        return int(value)
    return value


def _plain(value: Any) -> str:
    return str(int(value)) if type(value) is float and value.is_integer() else str(value).strip()
