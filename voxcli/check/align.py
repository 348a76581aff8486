"""Align what was heard with what was to be said: the fewest missing, added and changed words."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Step", "align", "distance"]

Kind = Literal["same", "changed", "missing", "added"]

# An error costs this much, so that the tie-breakers of a whole text never outweigh one.
ERROR = 1 << 12
MAX_CELLS = 1 << 24  # 64 MiB; longer texts are aligned by their common runs, which may find some errors more


class Step(NamedTuple):
    """Words [wanted, wanted_end) correspond to heard words [heard, heard_end); one of the two may be empty.

    A step of kind "same" has one word on each side, or two on one side that are written together on the other.
    """

    kind: Kind
    wanted: int
    wanted_end: int
    heard: int
    heard_end: int


def align(wanted: Sequence[str], heard: Sequence[str]) -> list[Step]:
    """Return the steps from the first word to the last: the minimum number of errors.

    Words written apart on one side and together on the other, "every one" and "everyone", are no error.

    >>> [step.kind for step in align(["a", "b", "every", "one"], ["a", "x", "everyone"])]
    ['same', 'changed', 'same']
    """
    if (len(wanted) + 1) * (len(heard) + 1) > MAX_CELLS:
        return _by_runs(wanted, heard)
    costs = _costs(wanted, heard)
    steps: list[Step] = []
    i, j = len(wanted), len(heard)
    while i or j:
        step = _last_step(costs, wanted, heard, i, j)
        steps.append(step)
        i, j = step.wanted, step.heard
    return steps[::-1]


def distance(wanted: Sequence[str], heard: Sequence[str]) -> int:
    """Return the edit distance: the minimum number of missing, added and changed items."""
    numbers = {item: number for number, item in enumerate(dict.fromkeys([*wanted, *heard]))}
    others = np.array([numbers[item] for item in heard], np.int32)
    places = np.arange(len(heard) + 1, dtype=np.int32)
    row = places.copy()
    for item in wanted:
        following = row + 1
        following[1:] = np.minimum(following[1:], row[:-1] + (others != numbers[item]))
        row = np.minimum.accumulate(following - places) + places
    return int(row[-1])


def _costs(wanted: Sequence[str], heard: Sequence[str]) -> NDArray[np.int32]:
    """costs[i, j]: cost of the first i wanted and the first j heard words."""
    places = np.arange(len(heard) + 1, dtype=np.int32) * ERROR
    costs = np.empty((len(wanted) + 1, len(heard) + 1), np.int32)
    costs[0] = places
    for i, word in enumerate(wanted, 1):
        row = costs[i - 1] + ERROR
        changed = np.array([_change(word, other) for other in heard], np.int32)
        row[1:] = np.minimum(row[1:], costs[i - 1, :-1] + changed)
        for j in range(1, len(heard) + 1):
            if i > 1 and heard[j - 1] == wanted[i - 2] + word:
                row[j] = min(row[j], costs[i - 2, j - 1])
            if j > 1 and word == heard[j - 2] + heard[j - 1]:
                row[j] = min(row[j], costs[i - 1, j - 2])
        costs[i] = np.minimum.accumulate(row - places) + places
    return costs


def _change(word: str, other: str) -> int:
    """Return the cost of hearing `other` for `word`. Of equally good alignments, one that pairs like words wins."""
    if word == other:
        return 0
    return ERROR + (word[:2] != other[:2]) + (word[-2:] != other[-2:])


def _last_step(costs: NDArray[np.int32], wanted: Sequence[str], heard: Sequence[str], i: int, j: int) -> Step:
    here = costs[i, j]
    if i and j and here == costs[i - 1, j - 1] + _change(wanted[i - 1], heard[j - 1]):
        return Step("same" if wanted[i - 1] == heard[j - 1] else "changed", i - 1, i, j - 1, j)
    if i > 1 and j and here == costs[i - 2, j - 1] and heard[j - 1] == wanted[i - 2] + wanted[i - 1]:
        return Step("same", i - 2, i, j - 1, j)
    if i and j > 1 and here == costs[i - 1, j - 2] and wanted[i - 1] == heard[j - 2] + heard[j - 1]:
        return Step("same", i - 1, i, j - 2, j)
    if i and here == costs[i - 1, j] + ERROR:
        return Step("missing", i - 1, i, j, j)
    return Step("added", i, i, j - 1, j)


def _by_runs(wanted: Sequence[str], heard: Sequence[str]) -> list[Step]:
    steps: list[Step] = []
    for kind, a, b, c, d in SequenceMatcher(None, wanted, heard, autojunk=False).get_opcodes():
        both = min(b - a, d - c)
        same: Kind = "same" if kind == "equal" else "changed"
        steps += [Step(same, a + n, a + n + 1, c + n, c + n + 1) for n in range(both)]
        steps += [Step("missing", n, n + 1, d, d) for n in range(a + both, b)]
        steps += [Step("added", b, b, n, n + 1) for n in range(c + both, d)]
    return steps
