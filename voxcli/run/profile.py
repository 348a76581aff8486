"""Measure the time of each stage of a run. The time of a nested stage does not count for the outer one."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Entered = TypeVar("Entered")

MODEL, EARLIER = "model", "earlier results"


class StageTimer:
    """Collects seconds by stage: wall time in the thread that created it, CPU time in all other threads.

    How much wall time the other threads cost is unknown. All of their CPU time counts as time outside the model,
    although much of it runs in parallel with the model on a spare core.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._main = threading.get_ident()
        self._lock = threading.Lock()
        self._open = threading.local()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.beside: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Measure the `with` block, without the stages nested in it."""
        mine = threading.get_ident() == self._main
        clock, seconds = (time.perf_counter, self.seconds) if mine else (time.thread_time, self.beside)
        outer: list[float] = getattr(self._open, "inner", [])
        self._open.inner = inner = [0.0]  # seconds of the stages inside this one
        began = clock()
        try:
            yield
        finally:
            took = clock() - began
            with self._lock:
                seconds[name] += took - inner[0]
            self._open.inner = outer
            if outer:
                outer[0] += took

    def around(self, name: str, manager: AbstractContextManager[Entered]) -> AbstractContextManager[Entered]:
        """The same `with` block; the time to enter and to leave it is counted."""
        return _Timed(self, name, manager)

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items and measure the time to produce each of them."""
        iterator, end = iter(items), object()
        while True:
            with self(name):
                item = next(iterator, end)
            if item is end:
                return
            yield item  # type: ignore[misc]

    def lines(self) -> list[str]:
        """Return a table for people: seconds and share of the wall time by stage."""
        wall = time.perf_counter() - self._began
        parts = {**self.seconds, "other": wall - sum(self.seconds.values())}
        parts |= {f"{name} (in parallel)": seconds for name, seconds in self.beside.items()}
        other = sum(seconds for name, seconds in parts.items() if name != MODEL)
        width = max(map(len, parts))
        return [
            *(f"{name:<{width}} {seconds:9.2f} s {seconds / wall:7.2%}" for name, seconds in parts.items()),
            f"{'without the model':<{width}} {other:9.2f} s {other / wall:7.2%} of {wall:.1f} s",
        ]


class _Timed(AbstractContextManager[Entered]):
    def __init__(self, timer: StageTimer, name: str, manager: AbstractContextManager[Entered]):
        self._timer, self._name, self._manager = timer, name, manager

    def __enter__(self) -> Entered:
        with self._timer(self._name):
            return self._manager.__enter__()

    def __exit__(self, *exception: Any) -> bool | None:
        with self._timer(self._name):
            return self._manager.__exit__(*exception)
