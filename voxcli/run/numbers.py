"""Lines without an id are known by what they say, not by their place, so that a line put between them changes no other.

The number of such a line is its place when it is first spoken, and stays with it, as do its results and its file. A
line that is new at a place whose number another one has gets the next number that is free: nothing is written over,
and what is kept keeps its name. `--join` and the report follow the manifest, whatever the numbers are.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from voxcli.jobs.job import Job
from voxcli.jobs.result import Result, shown_path
from voxcli.run.results import History
from voxcli.run.resume import Fingerprints

_NUMBER = re.compile(r"[0-9]{5,9}")  # as the manifest gives them


def keep_numbers(
    jobs: Sequence[Job], before: Mapping[str, History], out: Path, refuse: Callable[[Path], None]
) -> tuple[list[Job], int]:
    """The jobs of a manifest with the numbers that earlier runs into `out` gave their lines.

    Also how many have another number than their place. Lines of one text are told apart by voice and settings, and
    where these are the same, by their order.

    refuse: raises InputError for a file that must not be written.
    """
    named = {name for job in jobs if not job.numbered for name in (job.id, job.out.stem)}
    named |= {job.out.stem for job in jobs if _has_own_file(job)}
    known = {
        identity: history.good or history.last
        for identity, history in before.items()
        if _NUMBER.fullmatch(identity) and identity not in named
    }
    if not known or not any(job.numbered for job in jobs):
        return list(jobs), 0
    found = _by_output(jobs, known, out)
    found |= _by_content(jobs, known, out)
    used = set(found.values())
    free = _free_numbers(jobs, known, named, out)
    kept, moved = [], 0
    for place, job in enumerate(jobs):
        if job.numbered:
            number = found.get(place) or (job.id if job.id not in used else next(free))
            used.add(number)
            if number != job.id:
                moved += 1
                job = _numbered(job, number)
                refuse(job.out)
        kept.append(job)
    return kept, moved


def _by_output(jobs: Sequence[Job], known: Mapping[str, Result], out: Path) -> dict[int, str]:
    """Lines that name their file, by place: the number of the result of that file."""
    numbers = {result.out: identity for identity, result in known.items() if not _is_named_by(result, identity)}
    own = ((place, job) for place, job in enumerate(jobs) if job.numbered and _has_own_file(job))
    return {place: numbers[output] for place, job in own if (output := shown_path(job.out, out)) in numbers}


def _by_content(jobs: Sequence[Job], known: Mapping[str, Result], out: Path) -> dict[int, str]:
    """Lines whose file is named by their number, by place: the number of the result that they are of."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for identity, result in sorted(known.items(), key=lambda item: int(item[0])):
        if _is_named_by(result, identity):
            numbers[result.text].append(identity)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, job in enumerate(jobs):
        if job.numbered and not _has_own_file(job) and job.text in numbers:
            places[job.text].append(place)
    fingerprints = Fingerprints(None)
    found: dict[int, str] = {}
    for text, lines in places.items():
        rest = numbers[text]
        if len(lines) > 1 or len(rest) > 1:
            exact = _exact(jobs, lines, known, rest, fingerprints)
            found |= exact
            taken = set(exact.values())
            lines, rest = [line for line in lines if line not in exact], [each for each in rest if each not in taken]
        found |= dict(zip(lines, rest, strict=False))
    return found


def _exact(
    jobs: Sequence[Job],
    lines: Sequence[int],
    known: Mapping[str, Result],
    numbers: Iterable[str],
    fingerprints: Fingerprints,
) -> dict[int, str]:
    """Of lines that share a text, those whose voice and settings are those of a result, in their order."""
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for identity in numbers:
        made = known[identity].fingerprint or {}
        waiting[_key(made.get("voice"), made.get("settings"))].append(identity)
    found = {}
    for place in lines:
        if alike := waiting[_key(*fingerprints.voice_and_settings(jobs[place]))]:
            found[place] = alike.pop(0)
    return found


def _key(voice: Any, settings: Any) -> str:
    return json.dumps([voice, settings], sort_keys=True)


def _free_numbers(jobs: Sequence[Job], known: Iterable[str], named: set[str], out: Path) -> Iterator[str]:
    """Numbers that no line has or had, and whose name no file has."""
    taken = named | {job.out.stem for job in jobs}
    with suppress(OSError):
        taken |= {name.partition(".")[0] for name in os.listdir(out)}
    numbers = count(max(len(jobs), *map(int, known)) + 1)
    return (identity for number in numbers if (identity := f"{number:05d}") not in taken)


def _has_own_file(job: Job) -> bool:
    return job.out.stem != job.id


def _is_named_by(result: Result, identity: str) -> bool:
    """Whether the file of a result has its name from the id."""
    return result.out.rpartition(".")[0] == identity


def _numbered(job: Job, number: str) -> Job:
    return replace(job, id=number, out=job.out if _has_own_file(job) else job.out.with_name(number + job.out.suffix))
