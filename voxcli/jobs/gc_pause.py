"""Pause garbage collection while many small objects are created that are not garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000  # objects; collecting fewer takes no time


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable the cyclic garbage collector for the block; does nothing if it is already disabled.

    If many objects were created, later collections skip them too. Reference counting still frees them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] > MANY:  # not every time: freezing also keeps existing cyclic garbage for good
                gc.freeze()
            gc.enable()
