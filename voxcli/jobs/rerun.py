"""Which lines of an earlier run are spoken again: a policy, a selection of lines, and the verdicts of a review."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from voxcli.errors import InputError, quoted
from voxcli.files.names import one_name
from voxcli.jobs.job import Job
from voxcli.jobs.verdicts import LineVerdict
from voxcli.terminal import counted, nearest

RerunPolicy = Literal["changed", "failed", "all"]
MAX_NAMED = 3  # unknown ids in a message


@dataclass(frozen=True)
class Rerun:
    """What a run speaks of the lines of an earlier run.

    policy:   "changed": what is missing, failed, changed or rejected.
    only:     ids of the lines that may be spoken (by `one_name`); None: all.
    without:  ids of lines that are not spoken.
    verdicts: of the review that is given, by id; None without one. Lines it approves are never spoken again.
    """

    policy: RerunPolicy = "changed"
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    verdicts: Mapping[str, LineVerdict] | None = None

    def selects(self, job: Job) -> bool:
        """Whether a line may be spoken."""
        if self.only is None and not self.without:
            return True
        name = one_name(job.id)
        return (self.only is None or name in self.only) and name not in self.without

    def verdict(self, job: Job) -> LineVerdict | None:
        return self.verdicts.get(one_name(job.id)) if self.verdicts else None

    @property
    def everything(self) -> bool:
        """Whether all lines are spoken again, so that nothing of an earlier run has to fit."""
        return self.policy == "all" and self.only is None and not self.without and self.verdicts is None

    @property
    def options(self) -> str:
        """The options that leave lines for another run."""
        given = {"--retry-failed": self.policy == "failed", "--only": self.only is not None, "--except": self.without}
        return " and ".join(name for name, value in given.items() if value)


CHANGED = Rerun()


def ids_named(option: str, values: Sequence[str], jobs: Iterable[Job]) -> frozenset[str]:
    """Return the ids of lines in the values of an option, which separate them by commas, as `one_name` writes them.

    A line without an id may be named by its number. Raises InputError when a line does not exist.
    """
    known = {one_name(job.id): job for job in jobs}
    found, strangers = set(), []
    for value in values:
        for part in [value] if one_name(value) in known else value.split(","):
            if not (name := part.strip()):
                continue
            padded = f"{name:0>5}" if name.isdecimal() else name
            key = next((key for key in (one_name(name), padded) if key in known), None)
            if key is not None:
                found.add(key)
            else:
                strangers.append(name)
    if strangers:
        raise InputError(f"{option}: {unknown_ids(strangers, known.values())}")
    if not found:
        raise InputError(f"{option} names no line: give ids, separated by commas")
    return frozenset(found)


def unknown_ids(names: Sequence[str], jobs: Iterable[Job]) -> str:
    """Describe ids that none of the jobs has."""
    shown = ", ".join(map(quoted, names[:MAX_NAMED]))
    more = f" and {counted(len(names) - MAX_NAMED, 'other')}" if len(names) > MAX_NAMED else ""
    guess = nearest(names[0], [job.id for job in jobs]) if len(names) == 1 else None
    return f"no line has the id {shown}{more}" + (f"; did you mean {quoted(guess)}?" if guess else "")
