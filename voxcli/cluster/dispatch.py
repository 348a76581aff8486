"""Which worker speaks which line, who takes a line back, and what becomes of the lines of a worker that died.

Logic alone: no Ray, no clock, no engine. Lines are handed out longest first, to each worker as many as its engine has
rows and half as many again, but never more than its share of what is left. A line whose worker died is a suspect and
runs in ever smaller company, so that an innocent is not blamed: after one death with at most a quarter of the batch
beside it, after two alone. Suspects come after all others: what they may break then is little.

A line fails when it may not run again, and sooner when it is found out: its worker died twice while it was alone there,
and no worker died without it. Where others died as well, it may be the machines, and the line has all its retries.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from voxcli.jobs.plan import Utterance

SPARE = 2  # a worker is given its rows and one of so many of them beyond: what it begins before it is heard again
QUARTER = 4
ALONE = 2  # deaths after which a line runs alone
FOUND_OUT = 2  # deaths of workers that it was alone in


@dataclass(eq=False)
class Task:
    """place: in the plan, longest first.  deaths: of workers that had it, and `alone` had nothing else."""

    utterance: Utterance
    place: int
    deaths: int = 0
    alone: int = 0

    @property
    def id(self) -> str:
        return self.utterance.job.id

    @property
    def stage(self) -> int:
        """0 for no suspect, 1 for one in small company, 2 for one that runs alone."""
        return min(self.deaths, ALONE)


@dataclass(eq=False)
class WorkerLoad:
    """A worker as the dispatcher sees it.

    rows:     of its engine; 0 until it has loaded.
    lines:    handed out and not ended, in that order.
    suspects: how many of those are suspects.
    asked:    some have been asked back, and the answer is not here yet.
    drained:  it has begun all it has.
    """

    rows: int = 0
    lines: dict[str, Task] = field(default_factory=dict)
    suspects: int = 0
    asked: bool = False
    drained: bool = False

    def put(self, line: Task) -> None:
        self.lines[line.id] = line
        self.suspects += line.deaths > 0
        self.drained = False

    def drop(self, identity: str) -> Task | None:
        line = self.lines.pop(identity, None)
        if line is not None:
            self.suspects -= line.deaths > 0
        return line

    @property
    def capacity(self) -> int:
        return self.rows + max(1, self.rows // SPARE)

    def beside(self, line: Task) -> int:
        """Most lines that may run beside this one here."""
        return (self.capacity - 1, self.rows // QUARTER, 0)[line.stage]

    @property
    def limit(self) -> int:
        """Lines that it may have, for those it has."""
        if not self.suspects:
            return self.capacity
        return 1 + min(map(self.beside, self.lines.values()))

    @property
    def underfull(self) -> bool:
        """Under half full, and free to take more."""
        return 0 < self.rows > 2 * len(self.lines) < 2 * self.limit

    def has_room_for(self, line: Task) -> bool:
        return len(self.lines) < self.limit and len(self.lines) <= self.beside(line)


class Dispatcher:
    """max_retries: how often a line is run again whose worker died."""

    def __init__(self, max_retries: int):
        self.max_retries = max_retries
        self.loads: dict[str, WorkerLoad] = {}
        self.unfinished = 0
        self.deaths = 0  # of workers that had lines
        self._queues: tuple[list[tuple[int, Task]], ...] = ([], [], [])  # heaps by stage, then by place
        self._places = 0
        self._changed: set[str] = set()  # those that may take more than when they were last looked at
        self._underfull: set[str] = set()  # those under half full, and perhaps some that no longer are

    # -- lines in -----------------------------------------------------------------------------------------------
    def add(self, utterances: Iterable[Utterance]) -> None:
        """In the order of the plan, or later: those whose voice was waited for."""
        for utterance in utterances:
            self._push(Task(utterance, self._places))
            self._places += 1
            self.unfinished += 1
        self._changed.update(self.loads)

    @property
    def queued(self) -> int:
        return sum(map(len, self._queues))

    def _push(self, line: Task) -> None:
        heapq.heappush(self._queues[line.stage], (line.place, line))

    # -- workers come and go ------------------------------------------------------------------------------------
    def expect(self, name: str) -> None:
        """A worker is on its way: its share of the lines is kept for it."""
        self.loads[name] = WorkerLoad()

    def join(self, name: str, rows: int) -> None:
        """It has loaded, or its engine now has fewer rows."""
        self.loads[name].rows = max(1, rows)
        self._underfull.add(name)
        self._changed.update(self.loads)

    def lost(self, name: str) -> list[Task]:
        """A worker died, or is no longer waited for. Its lines run again; those that may not are returned: they failed.

        Which of them killed it is not known, so that each counts one death.
        """
        load, failed = self.loads.pop(name), []
        self._changed.discard(name)
        self._underfull.discard(name)
        self.deaths += bool(load.lines)
        for line in load.lines.values():
            line.deaths += 1
            line.alone += len(load.lines) == 1
            found_out = line.alone >= FOUND_OUT and line.deaths == self.deaths
            if line.deaths > self.max_retries or found_out:
                failed.append(line)
                self.unfinished -= 1
            else:
                self._push(line)
        self._changed.update(self.loads)
        return failed

    def has_lines(self, name: str) -> bool:
        load = self.loads.get(name)
        return load is not None and bool(load.lines)

    def lines_of(self, name: str) -> set[str]:
        """Ids of the lines that it has and that have not ended."""
        load = self.loads.get(name)
        return set(load.lines) if load is not None else set()

    # -- lines out ----------------------------------------------------------------------------------------------
    def hand_out(self) -> dict[str, list[Task]]:
        """To every worker what it may take now, the emptiest first and one at a time, so that all get long ones."""
        given: dict[str, list[Task]] = {}
        share = -(-self.unfinished // max(1, len(self.loads)))
        order = [(self._filled(name), name) for name in self._changed if self.loads[name].rows]
        heapq.heapify(order)
        self._changed.clear()
        while order:
            _, name = heapq.heappop(order)
            load = self.loads[name]
            if len(load.lines) < share and (line := self._next(load)) is not None:
                load.put(line)
                given.setdefault(name, []).append(line)
                heapq.heappush(order, (self._filled(name), name))
        return given

    def _filled(self, name: str) -> float:
        load = self.loads[name]
        return len(load.lines) / load.rows

    def _next(self, load: WorkerLoad) -> Task | None:
        for queue in self._queues:
            if queue and load.has_room_for(queue[0][1]):
                return heapq.heappop(queue)[1]
        return None

    def finish(self, name: str, identity: str) -> Task | None:
        """A line has ended there. None when it was not that worker's any more: whoever has it now ends it."""
        load = self.loads.get(name)
        line = load.drop(identity) if load is not None else None
        if line is not None:
            self.unfinished -= 1
            self._changed.add(name)
            self._underfull.add(name)
        return line

    # -- the tail -----------------------------------------------------------------------------------------------
    def rebalance(self) -> tuple[str, int] | None:
        """When nothing is queued and a worker is under half full: from whom to ask how many lines back."""
        if self.queued:
            return None
        underfull = self._underfull = {name for name in self._underfull if self.loads[name].underfull}
        if not underfull:
            return None
        ready = {name: len(load.lines) for name, load in self.loads.items() if load.rows}
        if len(underfull) <= sum(load.asked for load in self.loads.values()):
            return None  # what was asked back already is on its way to them
        emptiest = min(underfull, key=ready.__getitem__)
        givers = [name for name in ready if not (self.loads[name].asked or self.loads[name].drained)]
        fullest = max(givers, key=ready.__getitem__, default=emptiest)
        count = (ready[fullest] - ready[emptiest]) // 2
        if count < 1:
            return None
        self.loads[fullest].asked = True
        return fullest, count

    def given_back(self, name: str, identities: Iterable[str]) -> None:
        """What a worker that was asked had not begun: other workers may have it."""
        load = self.loads.get(name)
        if load is None:
            return
        returned = [line for identity in identities if (line := load.drop(identity)) is not None]
        load.asked, load.drained = False, not returned
        for line in returned:
            self._push(line)
        self._changed.update(self.loads)
