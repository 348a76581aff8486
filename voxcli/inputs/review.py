"""`--review FILE`: the verdicts on lines that the report page saves as review.json.

{"version": 1, "lines": {"fog": {"verdict": "rejected", "take": 1, "seeds": [7], "note": "too fast"}}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voxcli.errors import InputError, reason_of
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
    take: Annotated[int, Field(ge=0)] | None = None
    seeds: list[Count] = []
    note: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(strict=True)

    version: Literal[1]
    lines: dict[str, _Line]


def read_review(path: Path, jobs: Sequence[Job]) -> tuple[Mapping[str, LineVerdict], list[str]]:
    """Return the verdicts of a review on the lines of a manifest, by id as `one_name` writes it, and notes for people.

    Raises InputError when it can't be read, is no review, or names none of the lines.
    """
    try:
        found = _File.model_validate_json(read_regular(path, MAX_BYTES).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise InputError(f"can't read the review {path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path} is no review that can be used: {_fault(error)}; save it again from the report"
        ) from error
    known = {one_name(job.id) for job in jobs}
    strangers = [name for name in found.lines if one_name(name) not in known]
    if strangers and len(strangers) == len(found.lines):
        raise InputError(f"{path} is a review of other lines: {unknown_ids(strangers, jobs)}")
    verdicts = {
        one_name(name): LineVerdict(line.verdict, line.take or None, tuple(line.seeds), line.note)
        for name, line in found.lines.items()
        if one_name(name) in known
    }
    return verdicts, _notes(path, found.lines, strangers, jobs)


def _notes(path: Path, lines: Mapping[str, _Line], strangers: Sequence[str], jobs: Sequence[Job]) -> list[str]:
    notes = []
    if strangers:
        lines_of = counted(len(strangers), "line")
        notes.append(f"{path}: {lines_of} not in the manifest: {unknown_ids(strangers, jobs)}")
    if vague := [name for name, line in lines.items() if line.verdict == "rejected" and not line.seeds]:
        notes.append(
            f"{path}: {counted(len(vague), 'line')} rejected without `seeds`, the first is {vague[0]}: "
            "list the seeds of the rejected takes, from results.jsonl, so that they are spoken again"
        )
    return notes


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {reason_of(ValueError(first['msg']))}" if place else reason_of(ValueError(first["msg"]))
