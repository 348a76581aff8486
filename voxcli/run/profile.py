"""Where the time of a run goes. A stage inside another counts for itself and not for that one."""

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
    """Seconds by stage, of the thread that made it by the wall clock, of others by the processor time they took.

    What other threads do costs wall time as well, but where and how much nobody can tell: it counts in full as not
    the model's, although much of it runs while the model has a core to spare.
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
        """The time of the `with` block, but for stages inside it."""
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
        """`items`, the time to make each of them counted."""
        iterator, end = iter(items), object()
        while True:
            with self(name):
                item = next(iterator, end)
            if item is end:
                return
            yield item  # type: ignore[misc]

    def lines(self) -> list[str]:
        """For people."""
        wall = time.perf_counter() - self._began
        parts = {**self.seconds, "all else": wall - sum(self.seconds.values())}
        parts |= {f"{name} (beside the model)": seconds for name, seconds in self.beside.items()}
        other = sum(seconds for name, seconds in parts.items() if name != MODEL)
        width = max(map(len, parts))
        return [
            *(f"{name:<{width}} {seconds:9.2f} s {seconds / wall:7.2%}" for name, seconds in parts.items()),
            f"{'all but the model':<{width}} {other:9.2f} s {other / wall:7.2%} of {wall:.1f} s",
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
