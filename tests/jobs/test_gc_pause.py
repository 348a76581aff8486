from __future__ import annotations

import gc
import weakref

import pytest

from voxcli.jobs import gc_pause as garbage
from voxcli.jobs.gc_pause import gc_paused


class Knot:
    """An object that refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


def test_nothing_is_collected_inside_and_few_objects_are_collected_after() -> None:
    with gc_paused():
        assert not gc.isenabled()
        knot = weakref.ref(Knot())
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the outer block is still active"
    assert gc.isenabled()
    gc.collect()
    assert knot() is None, "a process that reads many manifests must not keep the garbage of each"


def test_many_objects_are_not_scanned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "MANY", 1000)
    before = gc.get_freeze_count()
    with gc_paused():
        made = [[n] for n in range(2000)]
    assert gc.get_freeze_count() - before >= len(made)
    gc.unfreeze()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
