"""Which workers are late, and which hang. Decides by the clock alone.

A worker is late if it has not loaded within LATE_S. It hangs if it makes no progress: it does not answer, or its engine
makes no step although it holds lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from voxcli.cluster.pool import WorkerRecord

LATE_S = 30.0  # how long a share of the lines is reserved for a worker that has not loaded
LOOK_S = 1.0  # between two looks
LISTENING_S = 2.0  # maximum between two looks of a driver that was not stopped


class Look(NamedTuple):
    """late: workers that are late since this look.  hung: workers that hang."""

    late: list[WorkerRecord]
    hung: list[WorkerRecord]


class Watch:
    """Looks at the workers of a run, at most once per LOOK_S.

    hang_s: seconds without progress after which a worker hangs.
    now:    seconds of the monotonic clock, as in WorkerRecord.
    """

    def __init__(self, records: Mapping[str, WorkerRecord], hang_s: float, now: float):
        self._records = records
        self._hang_s = hang_s
        self._looked = now

    def look(self, now: float) -> Look:
        since = now - self._looked
        if since <= LOOK_S:
            return Look([], [])
        self._looked = now
        late, hung = [], []
        for worker in self._records.values():
            worker.moved += max(0.0, since - LISTENING_S)  # time this process was stopped does not count
            if worker.ready is None:
                if not worker.late and now - worker.since > LATE_S:
                    worker.late = True
                    late.append(worker)
            elif now - worker.moved > self._hang_s:
                hung.append(worker)
        return Look(late, hung)
