"""What earlier runs recorded about the takes of lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from voxcli.files.names import one_name
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result


@dataclass(frozen=True)
class History:
    """Results of one take in earlier runs.

    last:  the last result.
    good:  the last successful result; None if there is none.
    """

    last: Result
    good: Result | None


class Earlier:
    """What earlier runs into a folder recorded. Ids ignore case, as manifests do.

    folder:     the output folder; paths in results are relative to it.
    histories:  of each take, by key.
    """

    def __init__(self, folder: Path, histories: Mapping[str, History]):
        self.folder = folder
        self.histories = histories
        # few of many lines are in these, which live as long as the run
        self._further: defaultdict[str, dict[int, History]] = defaultdict(dict)  # takes from 2 on
        self._ids: dict[str, str] = {}  # ids that `one_name` changes
        for history in histories.values():
            identity, take = history.last.id, history.last.take or 1
            if take > 1:
                self._further[identity][take] = history
            if (name := one_name(identity)) != identity:
                self._ids[name] = identity

    def takes_of(self, job: Job) -> Mapping[int, History]:
        """Return the histories of a line's takes, by number."""
        identity = job.id
        if identity not in self.histories and identity not in self._further:
            name = one_name(identity)
            identity = self._ids.get(name, name)
        first = {1: self.histories[identity]} if identity in self.histories else {}
        return first | self._further.get(identity, {})

    @property
    def files(self) -> Iterator[Result]:
        """Yield the last successful result of each take that has one."""
        return (history.good for history in self.histories.values() if history.good is not None)

    def of(self, job: Job) -> History | None:
        return self.takes_of(job).get(job.take)
