"""Assign lines to workers, move lines between workers, and decide what happens to the lines of a worker that died.

Pure logic: no Ray, no clock, no engine. Lines are handed out longest first. A worker holds 1.5 times as many lines as
its engine has rows, but never more than its share of the lines that are left.

We cannot tell which line killed a worker, so all of its lines are retried last, in smaller batches: after one death
with at most a quarter of the batch beside it, after two deaths alone. By then little other work can be lost.

A line fails when its retries are used up. It fails sooner when its worker died twice while it ran alone and no worker
died without it. If workers died without it, the machines may be at fault, and the line keeps all its retries.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from voxcli.jobs.plan import Utterance

SPARE = 2  # a worker gets rows / SPARE lines more than it has rows: work for the time until its next poll
QUARTER = 4
ALONE = 2  # deaths after which a line runs alone
FOUND_OUT = 2  # deaths while running alone after which a line fails


@dataclass(eq=False)
class Task:
    """A line and the deaths of the workers that held it.

    place:  position in the plan, longest first.
    deaths: workers that died while they held the line.
    alone:  those of them that held no other line.
    """

    utterance: Utterance
    place: int
    deaths: int = 0
    alone: int = 0

    @property
    def id(self) -> str:
        return self.utterance.job.key

    @property
    def stage(self) -> int:
        """0: no worker died with it. 1: runs in a quarter batch. 2: runs alone."""
        return min(self.deaths, ALONE)


@dataclass(eq=False)
class WorkerLoad:
    """The dispatcher's view of a worker.

    rows:     rows of its engine; 0 until it has loaded.
    lines:    unfinished lines it holds, in the order they were handed out.
    suspects: how many of those were held by a worker that died.
    asked:    it was asked to give lines back and has not answered yet.
    drained:  it has begun all lines it holds.
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
        """Maximum number of lines that may run beside this one."""
        return (self.capacity - 1, self.rows // QUARTER, 0)[line.stage]

    @property
    def limit(self) -> int:
        """Maximum number of lines, given the lines it holds now."""
        if not self.suspects:
            return self.capacity
        return 1 + min(map(self.beside, self.lines.values()))

    @property
    def underfull(self) -> bool:
        """True if it is less than half full and may take more lines."""
        return 0 < self.rows > 2 * len(self.lines) < 2 * self.limit

    def has_room_for(self, line: Task) -> bool:
        return len(self.lines) < self.limit and len(self.lines) <= self.beside(line)


class Dispatcher:
    """Hands out lines. max_retries: how often a line is retried after its worker died."""

    def __init__(self, max_retries: int):
        self.max_retries = max_retries
        self.loads: dict[str, WorkerLoad] = {}
        self.unfinished = 0
        self.deaths = 0  # workers that died while they held lines
        self._queues: tuple[list[tuple[int, Task]], ...] = ([], [], [])  # one heap per stage, ordered by place
        self._places = 0
        self._changed: set[str] = set()  # workers that may take more since the last hand_out
        self._underfull: set[str] = set()  # superset of the workers that are less than half full

    # -- lines in -----------------------------------------------------------------------------------------------
    def add(self, utterances: Iterable[Utterance]) -> None:
        """Queue lines, in the order of the plan. Lines whose voice was not ready yet are added later."""
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
        """Register a worker that is loading and reserve its share of the lines."""
        self.loads[name] = WorkerLoad()

    def join(self, name: str, rows: int) -> None:
        """Record that a worker has loaded or that its batch shrank."""
        self.loads[name].rows = max(1, rows)
        self._underfull.add(name)
        self._changed.update(self.loads)

    def lost(self, name: str) -> list[Task]:
        """Remove a worker that died or is too late, requeue its lines, and return the lines that failed.

        Any of its lines may have killed it, so each of them counts one death.
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
        """Assign queued lines to workers and return the new lines of each.

        The emptiest worker gets a line first, one line at a time, so that long lines are spread over all workers.
        """
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
        """Record that a worker finished a line. Returns None if that worker no longer holds the line."""
        load = self.loads.get(name)
        line = load.drop(identity) if load is not None else None
        if line is not None:
            self.unfinished -= 1
            self._changed.add(name)
            self._underfull.add(name)
        return line

    # -- the tail -----------------------------------------------------------------------------------------------
    def rebalance(self) -> tuple[str, int] | None:
        """Name a worker and the number of lines to ask back from it; None if there is nothing to move.

        Lines move once nothing is queued and a worker is less than half full.
        """
        if self.queued:
            return None
        underfull = self._underfull = {name for name in self._underfull if self.loads[name].underfull}
        if not underfull:
            return None
        ready = {name: len(load.lines) for name, load in self.loads.items() if load.rows}
        if len(underfull) <= sum(load.asked for load in self.loads.values()):
            return None  # lines already asked back will go to them
        emptiest = min(underfull, key=ready.__getitem__)
        givers = [name for name in ready if not (self.loads[name].asked or self.loads[name].drained)]
        fullest = max(givers, key=ready.__getitem__, default=emptiest)
        count = (ready[fullest] - ready[emptiest]) // 2
        if count < 1:
            return None
        self.loads[fullest].asked = True
        return fullest, count

    def given_back(self, name: str, identities: Iterable[str]) -> None:
        """Requeue lines that a worker had not begun and gave back."""
        load = self.loads.get(name)
        if load is None:
            return
        returned = [line for identity in identities if (line := load.drop(identity)) is not None]
        load.asked, load.drained = False, not returned
        for line in returned:
            self._push(line)
        self._changed.update(self.loads)
