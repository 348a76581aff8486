"""The solver's schedule, against numbers worked out by hand and against float64."""

from __future__ import annotations

import math

import pytest

from voxcli.model.locdit import euler_times, zero_init_steps


def test_two_steps_by_hand() -> None:
    """Linear times 1, 1/2, 0; warped: 1, 1/2 + cos(pi/4) - 1/2 = 0.7071.., 0."""
    times, widths = euler_times(2)
    assert times == pytest.approx([1.0, math.sqrt(0.5)], abs=1e-6)
    assert widths == pytest.approx([1 - math.sqrt(0.5), math.sqrt(0.5)], abs=1e-6)


@pytest.mark.parametrize("steps", [2, 10, 25, 100])
def test_times_follow_the_formula(steps: int) -> None:
    times, widths = euler_times(steps)
    linear = [1 - i / steps for i in range(steps + 1)]
    warped = [t + (math.cos(math.pi / 2 * t) - 1 + t) for t in linear]
    assert times == pytest.approx(warped[:-1], abs=1e-5)
    assert sum(widths) == pytest.approx(1.0, abs=1e-5)
    assert all(width > 0 for width in widths)


@pytest.mark.parametrize(("steps", "still"), [(2, 1), (10, 1), (48, 1), (49, 2), (74, 3)])
def test_still_steps(steps: int, still: int) -> None:
    """4 % of the steps + 1 points, at least one."""
    assert zero_init_steps(steps) == still
