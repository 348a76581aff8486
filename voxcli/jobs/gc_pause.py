"""Many small objects made at once, none of them garbage: Python need not look for any among them, again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000  # objects: looking through fewer takes no time


@contextmanager
def gc_paused() -> Iterator[None]:
    """Switch the cyclic garbage collector off for the block; nested blocks and one that was off are respected.

    Where many were made they are not looked through later either: what is no cycle goes when nothing refers to it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] > MANY:  # each time, the garbage that is there would stay for good
                gc.freeze()
            gc.enable()
