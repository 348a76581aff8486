"""`--review FILE`: the verdicts on lines that the report page saves as review.json.

{"version": 1, "lines": {"fog": {"verdict": "rejected", "take": 1, "seeds": [7], "note": "too fast",
 "sha256": ["90ab12cd34ef5678"]}}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voxcli.errors import InputError, quoted, reason_of
from voxcli.files.names import one_name
from voxcli.files.read import read_regular
from voxcli.jobs.job import Job
from voxcli.jobs.rerun import unknown_ids
from voxcli.jobs.result import Count, Verdict
from voxcli.jobs.verdicts import LineVerdict
from voxcli.terminal import counted

MAX_BYTES = 1 << 28


class _Line(BaseModel):
    """A line. Fields that the page adds are ignored."""

    model_config = ConfigDict(strict=True)

    verdict: Verdict | None = None
    take: Annotated[int, Field(ge=1)] | None = None
    seeds: list[Count] = []
    note: str | None = None
    sha256: list[Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]] = []


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    version: Literal[1]
    lines: dict[str, _Line]


def read_review(path: Path, jobs: Sequence[Job]) -> tuple[Mapping[str, LineVerdict], list[str]]:
    """Return the verdicts of a review on the lines of a manifest, by id as `one_name` writes it, and notes for people.

    Raises InputError when it can't be read, is no review, or names none of the lines.
    """
    try:
        content = read_regular(path, MAX_BYTES).removeprefix(b"\xef\xbb\xbf")
        found = _File.model_validate_json(content)
    except OSError as error:
        raise InputError(f"can't read the review {path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path} is no review that can be used: {_fault(error)}; save it again from the report"
        ) from error
    if (twice := _twice(content, found.lines)) is not None:
        raise InputError(f"{path} contains {quoted(twice)} twice: keep one of them")
    known = {one_name(job.id) for job in jobs}
    strangers = [name for name in found.lines if one_name(name) not in known]
    if strangers and len(strangers) == len(found.lines):
        raise InputError(f"{path} is a review of other lines: {unknown_ids(strangers, jobs)}")
    verdicts = {
        one_name(name): LineVerdict(line.verdict, line.take, tuple(line.seeds), line.note, tuple(line.sha256))
        for name, line in found.lines.items()
        if one_name(name) in known
    }
    return verdicts, _notes(path, found.lines, strangers, jobs)


def _notes(path: Path, lines: Mapping[str, _Line], strangers: Sequence[str], jobs: Sequence[Job]) -> list[str]:
    notes = []
    if strangers:
        lines_of = counted(len(strangers), "line")
        notes.append(f"{path}: {lines_of} not in the manifest: {unknown_ids(strangers, jobs)}")
    vague = [name for name, line in lines.items() if line.verdict == "rejected" and not line.seeds and not line.take]
    if vague:
        notes.append(
            f"{path}: {counted(len(vague), 'line')} rejected without `take` or `seeds`, the first is {vague[0]}: "
            "name the rejected take, so that it is spoken again"
        )
    return notes


def _twice(content: bytes, lines: Mapping[str, _Line]) -> str | None:
    """Return a name that an object has twice, or an id that two lines have in different case; None if there is none."""
    found: list[str] = []

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = set[str]()
        for name, _ in pairs:
            if name in names:
                found.append(name)
            names.add(name)

    json.loads(content, object_pairs_hook=check, parse_int=str)  # validated: it is JSON
    known = set[str]()
    for name in lines:
        if one_name(name) in known:
            found.append(name)
        known.add(one_name(name))
    return found[0] if found else None


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {reason_of(ValueError(first['msg']))}" if place else reason_of(ValueError(first["msg"]))
