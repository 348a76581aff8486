"""Collect the problems of a manifest, each with its line; one that many lines share is reported once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from voxcli.errors import Problem, quoted
from voxcli.inputs.columns import hint
from voxcli.inputs.schema import LineFields
from voxcli.terminal import counted

MAX_ALIKE = 5  # problems of one kind that are listed one by one


class Fault(NamedTuple):
    """kind: the same for the same mistake in another line."""

    kind: Hashable
    message: str


def faults_of(error: ValidationError, given: Mapping[str, Any], model: type[LineFields]) -> list[Fault]:
    """Return the faults of the given fields, one phrase each."""
    found = []
    for problem in error.errors(include_url=False, include_context=False):
        name = str(problem["loc"][0]) if problem["loc"] else "line"
        kind = (name, problem["type"])
        if problem["type"] == "extra_forbidden":
            found.append(Fault(kind, f"unknown field {quoted(name)}{hint(name, tuple(model.model_fields))}"))
        elif problem["type"] == "missing":
            found.append(Fault(kind, f"field {quoted(name)} is missing"))
        else:
            reason = f"{problem['msg'][:1].lower()}{problem['msg'][1:]}"
            found.append(Fault(kind, f"{name}: {reason}, not {quoted(given.get(name))}"))
    return found


class Problems:
    """Problems: of each kind the first few, and the number of the others."""

    def __init__(self) -> None:
        self._alike: dict[Hashable, list[Problem]] = {}
        self._more: dict[Hashable, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._alike)

    def add(self, line: int, message: str, kind: Hashable = None) -> None:
        """kind: None for a problem that is unlike all others."""
        kind = kind if kind is not None else (line, message)
        alike = self._alike.setdefault(kind, [])
        if len(alike) < MAX_ALIKE:
            alike.append(Problem(line, message))
        else:
            self._more[kind] = (self._more.get(kind, (0, 0))[0] + 1, line)

    def listed(self) -> list[Problem]:
        """Return the problems in the order of their lines. The first of many of a kind stands for all."""
        found: list[Problem] = []
        for kind, alike in self._alike.items():
            more, last = self._more.get(kind, (0, 0))
            if more:
                others = f"likewise {counted(len(alike) - 1 + more, 'more line')}, the last is {last}"
                found.append(Problem(alike[0].line, f"{alike[0].message}; {others}"))
            else:
                found.extend(alike)
        return sorted(found, key=lambda problem: problem.line)
