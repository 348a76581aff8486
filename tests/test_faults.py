from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest
import torch

from tests import children
from voxcli import faults


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    faults.arm("")


def test_without_a_fault_at_a_point_nothing_happens() -> None:
    assert not any(faults.point(name) for name in faults.POINTS)
    faults.arm("rename:error")
    assert not faults.point("write")


def test_a_fault_happens_once_when_its_point_is_passed_for_the_nth_time() -> None:
    faults.arm("rename:enospc:3")
    assert not faults.point("rename") and not faults.point("rename")
    with pytest.raises(OSError) as caught:
        faults.point("rename")
    assert caught.value.errno == errno.ENOSPC
    assert not faults.point("rename")


def test_a_fault_with_a_word_happens_at_each_text_that_contains_it() -> None:
    faults.arm("line:error:@poison,write:eacces")
    assert not faults.point("line", "a line") and not faults.point("line")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a fault at line"):
            faults.point("line", "some poison here")
    with pytest.raises(PermissionError):
        faults.point("write")


def test_kinds_of_faults() -> None:
    faults.arm("step:nan")
    assert faults.point("step")
    faults.arm("step:memory")
    with pytest.raises(torch.OutOfMemoryError):
        faults.point("step")
    faults.arm("step:allocator")
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory"):
        faults.point("step")
    faults.arm("step:enomem")
    with pytest.raises(OSError, match="Cannot allocate memory"):
        faults.point("step")
    faults.arm("step:sigint")
    with children.sigint(), pytest.raises(KeyboardInterrupt):
        faults.point("step")


@pytest.mark.parametrize("fault", ["step", "nowhere:error", "step:flood", "step:error:x"])
def test_unknown_points_and_kinds_are_refused(fault: str) -> None:
    with pytest.raises(ValueError, match="points are load, voice"):
        faults.arm(fault)


def test_a_fault_with_a_word_and_a_number_happens_once() -> None:
    faults.arm("clip:drop:@fog:2,clip:noise:@rain,clip:cut:@fog:3")
    kinds = [faults.spoiled("clip", about) for about in ("a fog", "no", "the fog", "rain", "rain", "fog", "fog")]
    assert kinds == [None, None, "drop", "noise", "noise", "cut", None]
    assert faults.spoiled("write", "fog") is None
