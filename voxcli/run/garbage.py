"""Many small objects made at once, none of them garbage: Python need not look for any among them, again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the cyclic garbage collector off for the block; nested blocks and one that was off are respected.

    What was made there is not looked through later either: it goes when nothing refers to it.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
