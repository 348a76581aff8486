"""Solvers of the CFM's differential equation, which turn noise at time 1 into a patch at time 0.

Every solver here is explicit and evaluates the guided velocity v once per move. A move is therefore two numbers,
`width` and `carry`, and a row has two states, x (the input of the estimator) and z:

    x' = z - width * v(x)        z' = z - carry * v(x)

Euler has carry = width, so x = z. A two-step method keeps the contribution of the last velocity in z.

This module does not import torch, so that the command line can list the solvers quickly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

SOLVERS = ("euler", "ab2")
AB2_EXPONENT = 1.2


class Solver(NamedTuple):
    """A solver and its number of steps. Rows with equal solvers run together in one step of the engine.

    A tuple, because the rows of every step are sorted by it. The first steps have zero velocity (CFG-Zero*) and need no
    evaluation; each of the others evaluates the estimator once. The same number of steps is thus the same work with
    every solver.
    """

    name: str
    steps: int

    @property
    def evaluations(self) -> int:
        """Evaluations of the estimator per patch."""
        return self.steps - zero_init_steps(self.steps)

    def __str__(self) -> str:
        return f"{self.steps} steps of {self.name}"


class Move(NamedTuple):
    """One update of the states x and z; see the module docstring."""

    width: float
    carry: float


def zero_init_steps(steps: int) -> int:
    """Return the number of leading steps with zero velocity (CFG-Zero*, Fan et al. 2025)."""
    return max(1, int((steps + 1) * 0.04))


def warp(t: float) -> float:
    """Return the reference package's nonuniform time for a linear time t, both from 1 to 0."""
    return t + (math.cos(math.pi / 2 * t) - 1 + t)


# The time at which ten Euler steps (the default) first evaluate the velocity; the first step has zero velocity.
AB2_START = warp(0.9)


def ab2_times(evaluations: int) -> list[float]:
    """Return the times of the evaluations, followed by 0.

    The state does not change between time 1 and the first evaluation, as in the reference package.
    """
    return [AB2_START * (1 - i / evaluations) ** AB2_EXPONENT for i in range(evaluations + 1)]


def ab2_moves(times: Sequence[float]) -> list[Move]:
    """Return the moves of the Adams-Bashforth method of order 2 with variable steps (Hairer, Norsett, Wanner, III.5).

    The first step is an Euler step. The others are:

        x[k+1] = x[k] - h[k] * ((1 + r/2) v[k] - r/2 v[k-1])        r = h[k] / h[k-1]

    z[k] is x[k] + h[k] * r/2 * v[k-1], where h are the widths.
    """
    widths = [time - following for time, following in pairwise(times)]
    shares = [0.0, *(width * width / before / 2 for before, width in pairwise(widths)), 0.0]
    return [
        Move(width + share, width + share - following)
        for width, share, following in zip(widths, shares[:-1], shares[1:], strict=True)
    ]
