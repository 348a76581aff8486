"""What is wrong with a manifest: each problem with its line, and one that is the same in many lines only once."""

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
    """kind: of its problem, the same for the same mistake in another line."""

    kind: Hashable
    message: str


def faults_of(error: ValidationError, given: Mapping[str, Any], model: type[LineFields]) -> list[Fault]:
    """What is wrong with the fields that were given, one phrase each."""
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
    """Collects problems; of each kind the first few, and how many more there were."""

    def __init__(self) -> None:
        self._alike: dict[Hashable, list[Problem]] = {}
        self._more: dict[Hashable, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._alike)

    def add(self, line: int, message: str, kind: Hashable = None) -> None:
        """kind: None for one that is like no other."""
        kind = kind if kind is not None else (line, message)
        alike = self._alike.setdefault(kind, [])
        if len(alike) < MAX_ALIKE:
            alike.append(Problem(line, message))
        else:
            self._more[kind] = (self._more.get(kind, (0, 0))[0] + 1, line)

    def listed(self) -> list[Problem]:
        """In the order of their lines. Where there are many of a kind, the first speaks for all."""
        found: list[Problem] = []
        for kind, alike in self._alike.items():
            more, last = self._more.get(kind, (0, 0))
            if more:
                others = f"likewise {counted(len(alike) - 1 + more, 'more line')}, the last is {last}"
                found.append(Problem(alike[0].line, f"{alike[0].message}; {others}"))
            else:
                found.extend(alike)
        return sorted(found, key=lambda problem: problem.line)
