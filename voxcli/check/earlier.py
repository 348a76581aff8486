"""The files of an earlier run, at resume: which must be heard, and which lines must be spoken again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from voxcli.check.checker import Checker
from voxcli.check.folder import FileToCheck, check_files
from voxcli.errors import VoxError
from voxcli.jobs.result import Outcome, Result

__all__ = ["first_seed", "heard_again", "is_current", "may_improve", "moved_seed", "next_seed"]

MAX_SEED = 2**63 - 1


def is_current(result: Result, checker: Checker) -> bool:
    """Whether a result has a check by the same recognizer and limits; then its file need not be heard again."""
    check = result.check or {}
    return check.get("model") == checker.model.name and check.get("limits") == checker.limits.record()


def may_improve(result: Result, retries: int) -> bool:
    """Whether a line is doubtful and has not been spoken as often as it may be."""
    takes = (result.check or {}).get("takes", 1)
    return result.doubtful and isinstance(takes, int) and takes <= retries


def first_seed(result: Result) -> int | None:
    """Return the seed with which a line was first spoken: the same takes follow from it, and the same choice."""
    return _seed(result, "first_seed") if result.doubtful else result.seed


def next_seed(result: Result) -> int | None:
    """Return the first seed that has not been tried for a doubtful line."""
    if "next_seed" in (result.check or {}):
        return _seed(result, "next_seed")
    if result.seed is None:
        return None
    return min(result.seed + (result.attempts or 1), MAX_SEED)  # made without the check, which then heard the file


def moved_seed(result: Result, asked: int) -> int | None:
    """Return the seed with which a line with the seed `asked` was spoken, if an earlier run went on with seeds that
    were not tried; None if it began with `asked`."""
    began = _seed(result, "first_seed")
    return None if began in (None, asked) else first_seed(result)


def heard_again(kept: Sequence[Outcome], checker: Checker) -> Iterator[tuple[Outcome, bool]]:
    """Yield kept outcomes with a current check, in order, and whether the file was heard for that.

    A file that can't be heard keeps its result; the next run tries again.
    """
    stale = [outcome for outcome in kept if not is_current(outcome.result, checker)]
    found = check_files((_file(outcome) for outcome in stale), checker)
    for outcome in kept:
        if is_current(outcome.result, checker):
            yield outcome, False
            continue
        _, check = next(found)
        if isinstance(check, VoxError):
            yield outcome, False
        else:
            yield replace(outcome, result=check.applied(outcome.result)), True


def _file(outcome: Outcome) -> FileToCheck:
    job, result = outcome.job, outcome.result
    voice, language = next(iter(job.voices), None), job.settings.language
    return FileToCheck(job.id, job.out, job.text, tuple(result.cues or ()), voice, language)


def _seed(result: Result, name: str) -> int | None:
    value: Any = (result.check or {}).get(name, result.seed)
    return value if type(value) is int and 0 <= value <= MAX_SEED else result.seed
