"""Files that a run would replace although they are not its own, or approved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from voxcli.errors import OutputError
from voxcli.files.names import one_name
from voxcli.jobs.history import Earlier, History
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Plan
from voxcli.jobs.rerun import Rerun
from voxcli.jobs.result import shown_path
from voxcli.jobs.takes import takes_of
from voxcli.jobs.verdicts import decide
from voxcli.terminal import counted

Beside = Callable[[Job], Iterable[Path]]


def nothing(job: Job) -> Iterable[Path]:
    """Return no additional files; the default of `Beside`."""
    return ()


def check_places(plan: Plan, earlier: Earlier, rerun: Rerun, beside: Beside = nothing) -> None:
    """Raise OutputError if a file would be replaced that no result describes: it may not be ours.

    beside: further files written for a job, such as subtitles. They are ours if the job's file is.
    """
    ours = {one_name(result.out) for result in earlier.files}
    in_the_way = [
        (job.line, path)
        for job in (take.job for take in takes_of(plan.utterances))
        if rerun.policy == "changed" or (rerun.policy == "failed" and _failed(earlier.of(job)))
        if rerun.selects(job)
        if one_name(shown_path(job.out, earlier.folder)) not in ours
        for path in (job.out, *beside(job))
        if os.path.lexists(path) and not os.path.isdir(path)  # a folder is never replaced
    ]
    if in_the_way:
        (_, first), others = min(in_the_way), len(in_the_way) - 1
        more = f" (and {counted(others, 'other file')})" if others else ""
        raise OutputError(
            f"{first}{more} exists but is not in results.jsonl: move it away, choose another folder, "
            "or use --force to replace it"
        )


def check_approved(plan: Plan, earlier: Earlier, rerun: Rerun) -> None:
    """Raise OutputError if a line would replace the approved file of another one, as when names were exchanged."""
    if rerun.verdicts is None:
        return
    approved: dict[str, Job] = {}
    for job in plan.jobs:
        takes = earlier.takes_of(job)
        good = {take: history.good for take, history in takes.items() if history.good is not None}
        if (result := good.get(decide(rerun.verdict(job), good).approved or 0)) is not None:
            approved[one_name(result.out)] = job
    for utterance in takes_of(plan.utterances):
        owner = approved.get(one_name(shown_path(utterance.job.out, earlier.folder)))
        if owner is not None and owner.id != utterance.job.id and rerun.selects(utterance.job):
            raise OutputError(
                f"{utterance.job.out}, the output of {utterance.job}, is the approved take of {owner}: "
                "name another file"
            )


def _failed(history: History | None) -> bool:
    return history is not None and (history.last.failed or history.last.doubtful)
