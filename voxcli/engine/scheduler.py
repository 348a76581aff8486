"""Admits requests to rows, schedules prefills and allocates pages.

For files only throughput matters: the request with the longest expected output is admitted first, so that a batch does
not end with one long request running alone. Preempted requests are admitted before new ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from voxcli.engine.pages import PagePool, pages_for
from voxcli.engine.sequence import Sequence
from voxcli.engine.state import StateTable

# A prefill reads all weights of the LMs, whether it has one prompt or ten. While more requests wait than rows are free,
# rows are therefore filled when a sixteenth of them is free. Computed for 64 rows, steps of 15 ms, clips of 60 patches
# and prefills as long as the LMs' part of a step, 2.5 ms: three quarters of the prefills are saved, and rows are idle
# for 2.5 % of the time. Measured on an H200, lines to files, times real time before and after: 598 and 599, 653 and 621
# with 64 rows; 765, 744 with 128.
ADMITTED_TOGETHER = 16


class Scheduler:
    def __init__(self, pool: PagePool, state: StateTable):
        self.pool, self.state = pool, state
        self.running: list[Sequence] = []  # in order of admission
        self.max_running = state.free  # maximum number of concurrent requests; lowered after memory ran out
        self._waiting: list[tuple[bool, int, int, Sequence]] = []

    def __len__(self) -> int:
        return len(self.running) + len(self._waiting)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, sequence: Sequence, *, first: bool = False) -> None:
        """Queue a sequence. first: before all sequences that have not run yet (for retries and after a preemption)."""
        expected = min(sequence.request.prompt.target_tokens, sequence.limit)
        heapq.heappush(self._waiting, (not first, -expected, sequence.order, sequence))

    def remove_waiting(self, request_id: str) -> Sequence | None:
        """Remove a waiting sequence and return it; None if no waiting sequence has this id."""
        for i, entry in enumerate(self._waiting):
            if entry[-1].request_id == request_id:
                self._waiting[i] = self._waiting[-1]
                self._waiting.pop()
                heapq.heapify(self._waiting)
                return entry[-1]
        return None

    def admit(self) -> list[Sequence]:
        """Admit as many waiting sequences as fit. Each gets a row, and pages for its prompt and first patch."""
        free = self.max_running - len(self.running)
        if self.running and free < len(self._waiting) and free < self.max_running // ADMITTED_TOGETHER:
            return []
        admitted: list[Sequence] = []
        while self._waiting and len(self.running) < self.max_running:
            sequence = self._waiting[0][-1]
            needed = pages_for(sequence.prompt_length + 1)
            # Keep a free page for each running row: otherwise the new sequence would be preempted immediately.
            reserve = len(self.running)
            if not self.pool.can_allocate(needed + reserve):
                break
            heapq.heappop(self._waiting)
            sequence.row = self.state.acquire(sequence.request_id)
            sequence.pages = self.pool.allocate(needed)
            self.state.set_pages(sequence.row, 0, sequence.pages)
            self.running.append(sequence)
            admitted.append(sequence)
        return admitted

    def schedule_prefill(self, budget: int) -> Iterator[tuple[Sequence, int]]:
        """Yield sequences to prefill and the number of positions of each, within a budget of positions.

        How a prompt is divided into chunks depends on its own length only, so that its bits do, too.
        """
        left = budget
        for sequence in self.running:
            share = min(sequence.prompt_length - sequence.prefilled, budget)
            if share > left:
                return
            if share:
                yield sequence, share
                left -= share

    def allocate_next(self, sequence: Sequence) -> bool:
        """Allocate the page of the next patch if needed. Returns False if no page is free."""
        missing = pages_for(sequence.length + 1) - len(sequence.pages)
        if missing <= 0:
            return True
        if not self.pool.can_allocate(missing):
            return False
        pages = self.pool.allocate(missing)
        self.state.set_pages(sequence.row, len(sequence.pages), pages)
        sequence.pages += pages
        return True

    def release(self, sequence: Sequence) -> None:
        """Free the row and pages of a running sequence. Used for finish, failure, cancel and preemption alike."""
        self.running.remove(sequence)
        self.state.release(sequence.request_id)
        self.pool.release(sequence.pages)
        sequence.row, sequence.pages = 0, []

    def check_integrity(self) -> None:
        """Raise AssertionError unless the running sequences own exactly the rows and pages that are not free."""
        owned = [page for sequence in self.running for page in sequence.pages]
        self.pool.check_integrity(owned)
        rows = {sequence.request_id: sequence.row for sequence in self.running}
        assert rows == self.state.owned, f"rows {self.state.owned} are owned, requests run in {rows}"
