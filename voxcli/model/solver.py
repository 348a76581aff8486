"""Solvers of the CFM's differential equation: how noise at time 1 becomes a patch at time 0.

Every solver here is explicit and takes one evaluation of the guided velocity v for each of its moves, so that a move
is two numbers, `width` and `carry`, and a row needs two states, x (what the estimator sees) and z:

    x' = z - width * v(x)        z' = z - carry * v(x)

Euler has carry = width, so x and z are one. A method of two steps keeps in z its share of the last velocity.

Free of torch, so that the command line can list the solvers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

SOLVERS = ("euler", "ab2")
AB2_EXPONENT = 1.2


class Solver(NamedTuple):
    """A solver and its number of steps. Rows that share both run in one step of the engine; a tuple, because the rows
    of every step are sorted by it.

    Of the steps, the first ones have zero velocity (CFG-Zero*) and cost nothing, each of the others is one evaluation
    of the estimator: the number means the same work for all solvers.
    """

    name: str
    steps: int

    @property
    def evaluations(self) -> int:
        """Of the estimator, for each patch."""
        return self.steps - zero_init_steps(self.steps)

    def __str__(self) -> str:
        return f"{self.steps} steps of {self.name}"


class Move(NamedTuple):
    width: float
    carry: float


def zero_init_steps(steps: int) -> int:
    """Leading steps of zero velocity (CFG-Zero*, Fan et al. 2025)."""
    return max(1, int((steps + 1) * 0.04))


def warp(t: float) -> float:
    """The time that the reference makes of a linear one."""
    return t + (math.cos(math.pi / 2 * t) - 1 + t)


# Where ten Euler steps, the default, begin to move: the first of them has zero velocity.
AB2_START = warp(0.9)


def ab2_times(evaluations: int) -> list[float]:
    """Times of the evaluations, and 0. Noise stands still from time 1 to the first of them, as in the reference."""
    return [AB2_START * (1 - i / evaluations) ** AB2_EXPONENT for i in range(evaluations + 1)]


def ab2_moves(times: Sequence[float]) -> list[Move]:
    """Adams-Bashforth of order 2 with variable steps, the first of them Euler's (Hairer, Norsett, Wanner, III.5):

        x[k+1] = x[k] - h[k] * ((1 + r/2) v[k] - r/2 v[k-1])        r = h[k] / h[k-1]

    z[k] is x[k] + h[k] * r/2 * v[k-1].
    """
    widths = [time - following for time, following in pairwise(times)]
    shares = [0.0, *(width * width / before / 2 for before, width in pairwise(widths)), 0.0]
    return [
        Move(width + share, width + share - following)
        for width, share, following in zip(widths, shares[:-1], shares[1:], strict=True)
    ]
