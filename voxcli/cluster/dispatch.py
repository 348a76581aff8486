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
class Line:
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
class Station:
    """A worker as the dispatcher sees it.

    rows:     of its engine; 0 until it has loaded.
    lines:    handed out and not ended, in that order.
    suspects: how many of those are suspects.
    asked:    some have been asked back, and the answer is not here yet.
    barren:   it has begun all it has.
    """

    rows: int = 0
    lines: dict[str, Line] = field(default_factory=dict)
    suspects: int = 0
    asked: bool = False
    barren: bool = False

    def put(self, line: Line) -> None:
        self.lines[line.id] = line
        self.suspects += line.deaths > 0
        self.barren = False

    def drop(self, identity: str) -> Line | None:
        line = self.lines.pop(identity, None)
        if line is not None:
            self.suspects -= line.deaths > 0
        return line

    @property
    def capacity(self) -> int:
        return self.rows + max(1, self.rows // SPARE)

    def beside(self, line: Line) -> int:
        """Most lines that may run beside this one here."""
        return (self.capacity - 1, self.rows // QUARTER, 0)[line.stage]

    @property
    def most(self) -> int:
        """Lines that it may have, for those it has."""
        if not self.suspects:
            return self.capacity
        return 1 + min(map(self.beside, self.lines.values()))

    @property
    def poor(self) -> bool:
        """Under half full, and free to take more."""
        return 0 < self.rows > 2 * len(self.lines) < 2 * self.most

    def welcomes(self, line: Line) -> bool:
        return len(self.lines) < self.most and len(self.lines) <= self.beside(line)


class Dispatch:
    """max_retries: how often a line is run again whose worker died."""

    def __init__(self, max_retries: int):
        self.max_retries = max_retries
        self.stations: dict[str, Station] = {}
        self.unfinished = 0
        self.deaths = 0  # of workers that had lines
        self._queues: tuple[list[tuple[int, Line]], ...] = ([], [], [])  # heaps by stage, then by place
        self._places = 0
        self._hungry: set[str] = set()  # those that may take more than when they were last looked at
        self._poor: set[str] = set()  # those under half full, and perhaps some that no longer are

    # -- lines in -----------------------------------------------------------------------------------------------
    def add(self, utterances: Iterable[Utterance]) -> None:
        """In the order of the plan, or later: those whose voice was waited for."""
        for utterance in utterances:
            self._push(Line(utterance, self._places))
            self._places += 1
            self.unfinished += 1
        self._hungry.update(self.stations)

    @property
    def queued(self) -> int:
        return sum(map(len, self._queues))

    def _push(self, line: Line) -> None:
        heapq.heappush(self._queues[line.stage], (line.place, line))

    # -- workers come and go ------------------------------------------------------------------------------------
    def expect(self, name: str) -> None:
        """A worker is on its way: its share of the lines is kept for it."""
        self.stations[name] = Station()

    def join(self, name: str, rows: int) -> None:
        """It has loaded, or its engine now has fewer rows."""
        self.stations[name].rows = max(1, rows)
        self._poor.add(name)
        self._hungry.update(self.stations)

    def lost(self, name: str) -> list[Line]:
        """A worker died, or is no longer waited for. Its lines run again; those that may not are returned: they failed.

        Which of them killed it is not known, so that each counts one death.
        """
        station, failed = self.stations.pop(name), []
        self._hungry.discard(name)
        self._poor.discard(name)
        self.deaths += bool(station.lines)
        for line in station.lines.values():
            line.deaths += 1
            line.alone += len(station.lines) == 1
            found_out = line.alone >= FOUND_OUT and line.deaths == self.deaths
            if line.deaths > self.max_retries or found_out:
                failed.append(line)
                self.unfinished -= 1
            else:
                self._push(line)
        self._hungry.update(self.stations)
        return failed

    def has_lines(self, name: str) -> bool:
        station = self.stations.get(name)
        return station is not None and bool(station.lines)

    # -- lines out ----------------------------------------------------------------------------------------------
    def hand_out(self) -> dict[str, list[Line]]:
        """To every worker what it may take now, the emptiest first and one at a time, so that all get long ones."""
        given: dict[str, list[Line]] = {}
        share = -(-self.unfinished // max(1, len(self.stations)))
        order = [(self._filled(name), name) for name in self._hungry if self.stations[name].rows]
        heapq.heapify(order)
        self._hungry.clear()
        while order:
            _, name = heapq.heappop(order)
            station = self.stations[name]
            if len(station.lines) < share and (line := self._next(station)) is not None:
                station.put(line)
                given.setdefault(name, []).append(line)
                heapq.heappush(order, (self._filled(name), name))
        return given

    def _filled(self, name: str) -> float:
        station = self.stations[name]
        return len(station.lines) / station.rows

    def _next(self, station: Station) -> Line | None:
        for queue in self._queues:
            if queue and station.welcomes(queue[0][1]):
                return heapq.heappop(queue)[1]
        return None

    def finish(self, name: str, identity: str) -> Line | None:
        """A line has ended there. None when it was not that worker's any more: whoever has it now ends it."""
        station = self.stations.get(name)
        line = station.drop(identity) if station is not None else None
        if line is not None:
            self.unfinished -= 1
            self._hungry.add(name)
            self._poor.add(name)
        return line

    # -- the tail -----------------------------------------------------------------------------------------------
    def steal(self) -> tuple[str, int] | None:
        """When nothing is queued and a worker is under half full: from whom to ask how many lines back."""
        if self.queued:
            return None
        poor = self._poor = {name for name in self._poor if self.stations[name].poor}
        if not poor:
            return None
        ready = {name: len(station.lines) for name, station in self.stations.items() if station.rows}
        if len(poor) <= sum(station.asked for station in self.stations.values()):
            return None  # what was asked back already is on its way to them
        poorest = min(poor, key=ready.__getitem__)
        rich = [name for name in ready if not (self.stations[name].asked or self.stations[name].barren)]
        fullest = max(rich, key=ready.__getitem__, default=poorest)
        count = (ready[fullest] - ready[poorest]) // 2
        if count < 1:
            return None
        self.stations[fullest].asked = True
        return fullest, count

    def given_back(self, name: str, identities: Iterable[str]) -> None:
        """What a worker that was asked had not begun: other workers may have it."""
        station = self.stations.get(name)
        if station is None:
            return
        returned = [line for identity in identities if (line := station.drop(identity)) is not None]
        station.asked, station.barren = False, not returned
        for line in returned:
            self._push(line)
        self._hungry.update(self.stations)
