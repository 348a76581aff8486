"""Match lines without an id by content instead of position, so that an inserted line does not affect the others.

Such a line gets its position as its number when it is first spoken, and keeps that number, its results and its file.
If the number of a new line's position is taken, the line gets the next free number: nothing is overwritten and nothing
is renamed. `--join` and the report follow the order of the manifest.
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

from voxcli.inputs.manifest import Manifest
from voxcli.jobs.history import Earlier
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result, shown_path
from voxcli.jobs.takes import line_output
from voxcli.run.resume import Fingerprints
from voxcli.terminal import counted

_NUMBER = re.compile(r"[0-9]{5,9}")  # format of the ids that the manifest reader assigns


def keep_numbers(manifest: Manifest, earlier: Earlier, refuse: Callable[[Path], None]) -> Manifest:
    """Return the manifest with the numbers that earlier runs gave its lines, and a note if these are not their places.

    refuse: raises InputError for a file that must not be written.

    Lines with the same text are distinguished by voice and settings, then by order.
    """
    jobs = manifest.jobs
    named = {name for job in jobs if not job.numbered for name in (job.id, _beginning(job))}
    named |= {_beginning(job) for job in jobs if _has_own_file(job)}
    known: dict[str, Result] = {}
    for history in earlier.histories.values():
        result = history.good or history.last
        if (
            _NUMBER.fullmatch(result.id)
            and result.id not in named
            and (result.id not in known or result.take in (None, 1))
        ):
            known[result.id] = replace(result, out=line_output(result))
    if not known or not any(job.numbered for job in jobs):
        return manifest
    found = _by_output(jobs, known, earlier.folder)
    found |= _by_content(jobs, known)
    used = set(found.values())
    free = _free_numbers(jobs, known, named, earlier.folder)
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
    note = f"{counted(moved, 'line')} numbered other than by place: what was made before keeps its name"
    return replace(manifest, jobs=kept, notes=(*manifest.notes, *([note] if moved else [])))


def _by_output(jobs: Sequence[Job], known: Mapping[str, Result], out: Path) -> dict[int, str]:
    """Match lines that name their own file. Returns the number of the matching result by position."""
    numbers = {result.out: identity for identity, result in known.items() if not _is_named_by(result, identity, jobs)}
    own = ((place, job) for place, job in enumerate(jobs) if job.numbered and _has_own_file(job))
    return {place: numbers[output] for place, job in own if (output := shown_path(job.out, out)) in numbers}


def _by_content(jobs: Sequence[Job], known: Mapping[str, Result]) -> dict[int, str]:
    """Match the other lines by text. Returns the number of the matching result by position."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for identity, result in sorted(known.items(), key=lambda item: int(item[0])):
        if _is_named_by(result, identity, jobs):
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
    """Match lines that share a text by voice and settings, in order. Returns numbers by position."""
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for identity in numbers:
        made = known[identity].fingerprint or {}
        voice = None if known[identity].voice else made.get("voice")  # one that lines without a voice share
        waiting[_key(voice, made.get("settings"))].append(identity)
    found = {}
    for place in lines:
        if alike := waiting[_key(*fingerprints.voice_and_settings(jobs[place]))]:
            found[place] = alike.pop(0)
    return found


def _key(voice: Any, settings: Any) -> str:
    return json.dumps([voice, settings], sort_keys=True)


def _free_numbers(jobs: Sequence[Job], known: Iterable[str], named: set[str], out: Path) -> Iterator[str]:
    """Yield numbers that no line has or had and that no file is named after."""
    taken = named | {_beginning(job) for job in jobs}
    with suppress(OSError):
        taken |= {name.partition(".")[0] for name in os.listdir(out)}
    numbers = count(max(len(jobs), *map(int, known)) + 1)
    return (identity for number in numbers if (identity := f"{number:05d}") not in taken)


def _beginning(job: Job) -> str:
    """Return the name of its file up to the first dot: takes are named after it."""
    return job.out.name.partition(".")[0]


def _has_own_file(job: Job) -> bool:
    return job.out.stem != job.id and job.around_id is None


def _is_named_by(result: Result, identity: str, jobs: Sequence[Job]) -> bool:
    """True if the file of a result is named after its id, alone or by a template."""
    name = result.out.rpartition(".")[0]
    return name == identity or (identity in name and any(job.around_id is not None for job in jobs))


def _numbered(job: Job, number: str) -> Job:
    if job.around_id is not None:
        before, after = job.around_id
        folder = str(job.out).removesuffix(f"{before}{job.id}{after}")
        return replace(job, id=number, out=Path(folder, f"{before}{number}{after}"))
    return replace(job, id=number, out=job.out if _has_own_file(job) else job.out.with_name(number + job.out.suffix))
