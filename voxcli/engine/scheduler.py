"""Who gets a row, what is prefilled next, and who gives way when pages run out.

For files only throughput counts: the longest expected request is admitted first, so that a batch does not end on one
straggler. A preempted request comes back before any new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from voxcli.engine.pages import PagePool, pages_for
from voxcli.engine.sequence import Sequence
from voxcli.engine.state import StateTable


class Scheduler:
    def __init__(self, pool: PagePool, state: StateTable):
        self.pool, self.state = pool, state
        self.running: list[Sequence] = []  # in order of admission
        self.max_running = state.free  # requests at once; fewer after memory has run out
        self._waiting: list[tuple[bool, int, int, Sequence]] = []

    def __len__(self) -> int:
        return len(self.running) + len(self._waiting)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, sequence: Sequence, *, first: bool = False) -> None:
        """first: before all that have not run yet (retries and preempted requests)."""
        expected = min(sequence.request.prompt.target_tokens, sequence.limit)
        heapq.heappush(self._waiting, (not first, -expected, sequence.order, sequence))

    def remove_waiting(self, request_id: str) -> Sequence | None:
        for i, entry in enumerate(self._waiting):
            if entry[-1].request_id == request_id:
                self._waiting[i] = self._waiting[-1]
                self._waiting.pop()
                heapq.heapify(self._waiting)
                return entry[-1]
        return None

    def admit(self) -> list[Sequence]:
        """Give rows and pages for their prompt and first patch to waiting requests, as many as fit."""
        admitted = []
        while self._waiting and len(self.running) < self.max_running:
            sequence = self._waiting[0][-1]
            need = pages_for(sequence.prompt_length + 1)
            # Rows that run need a page now and then: without a reserve a newcomer would be preempted at once.
            reserve = len(self.running) if self.running else 0
            if not self.pool.can_allocate(need + reserve):
                break
            heapq.heappop(self._waiting)
            sequence.row = self.state.acquire(sequence.request_id)
            sequence.pages = self.pool.allocate(need)
            self.state.set_pages(sequence.row, 0, sequence.pages)
            self.running.append(sequence)
            admitted.append(sequence)
        return admitted

    def schedule_prefill(self, budget: int) -> Iterator[tuple[Sequence, int]]:
        """Rows that still have positions to prefill, as many as the token budget has room for, each with its share.

        Where a prompt is cut into chunks depends on its own length alone, so that its last bits do too.
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
        """Make sure the next patch has its page; False when none is free."""
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
        """Give back row and pages: the one way out for finish, failure, cancel and preemption."""
        self.running.remove(sequence)
        self.state.release(sequence.request_id)
        self.pool.release(sequence.pages)
        sequence.row, sequence.pages = 0, []

    def check_integrity(self) -> None:
        """Rows and pages of the running requests are all that is not free."""
        owned = [page for sequence in self.running for page in sequence.pages]
        self.pool.check_integrity(owned)
        rows = {sequence.request_id: sequence.row for sequence in self.running}
        assert rows == self.state.owned, f"rows {self.state.owned} are owned, requests run in {rows}"
