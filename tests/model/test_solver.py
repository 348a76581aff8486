"""Solvers on differential equations with known solutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from voxcli.model.solver import AB2_START, Move, Solver, ab2_moves, ab2_times, zero_init_steps


def solve(velocity: Callable[[float, float], float], times: Sequence[float], x: float) -> float:
    """Solve dx/dt = velocity(x, t) from the first time to the last with the moves of ab2."""
    z = x
    for time, move in zip(times, ab2_moves(times), strict=False):
        v = velocity(x, time)
        x, z = z - move.width * v, z - move.carry * v
    return x


@pytest.mark.parametrize(("steps", "skipped"), [(2, 1), (10, 1), (48, 1), (49, 2), (74, 3)])
def test_zero_init_steps(steps: int, skipped: int) -> None:
    """They are 4 % of the steps + 1 time points, and at least one."""
    assert zero_init_steps(steps) == skipped
    assert Solver("euler", steps).evaluations == Solver("ab2", steps).evaluations == steps - skipped


def test_moves_by_hand() -> None:
    """The widths are 1, 2 and 1: x -= v0, then with r = 2 x -= 2 (2 v1 - v0), then with r = 1/2 x -= 1.25 v2 - 0.25 v1.

    z includes the contribution of the last velocity: + 2 v0 after the first move, + 0.25 v1 after the second.
    """
    assert ab2_moves([4.0, 3.0, 1.0, 0.0]) == [Move(1.0, -1.0), Move(4.0, 3.75), Move(1.25, 1.25)]


def test_one_evaluation_is_an_euler_step() -> None:
    assert ab2_moves([0.9, 0.0]) == [Move(0.9, 0.9)]


@pytest.mark.parametrize("evaluations", [1, 4, 9, 48])
def test_times_descend_from_the_first_evaluation_of_ten_euler_steps(evaluations: int) -> None:
    """Its linear time is 0.9, warped: 0.9 + cos(0.45 pi) - 1 + 0.9."""
    times = ab2_times(evaluations)
    assert len(times) == evaluations + 1
    assert times[0] == AB2_START == pytest.approx(0.8 + math.cos(0.45 * math.pi))
    assert times == sorted(times, reverse=True) and times[-1] == 0


def test_a_velocity_linear_in_time_has_an_error_in_the_first_move_only() -> None:
    """dx/dt = t: x decreases by t^2 / 2; the first move, an Euler step of width h, subtracts h^2 / 2 too much."""
    times = ab2_times(5)
    error = solve(lambda x, t: t, times, 1.0) - (1.0 - times[0] ** 2 / 2)
    assert error == pytest.approx(-((times[0] - times[1]) ** 2) / 2)


def test_the_order_is_two() -> None:
    """dx/dt = x cos(3 t): with twice the evaluations the error is a quarter."""
    exact = math.exp(-math.sin(3 * AB2_START) / 3)
    errors = [
        abs(solve(lambda x, t: x * math.cos(3 * t), ab2_times(evaluations), 1.0) - exact)
        for evaluations in (20, 40, 80)
    ]
    assert [a / b for a, b in pairwise(errors)] == pytest.approx([4, 4], rel=0.2)
