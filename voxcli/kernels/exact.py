"""Batch invariance on a CPU: choose how to run an operation so that no row's bits depend on the other rows.

A library may sum the products of a row in another order if the batch has fewer rows or the process has more threads.
A clip would then sound the same in another batch, but its bytes would differ. Each operation over many rows is a
`Task`. Before a task is used for the first time its strategies are tried, cheapest first. The first strategy that gives
every row the same bits, for all tested numbers of rows, is used from then on. Trials use fixed inputs, so that a
machine always makes the same choice, and run once for each number of threads.

This module does not know the operations: `torch_ops` and `attention` define the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from voxcli.kernels.processor import AMD, vendor


@dataclass(frozen=True)
class Strategy:
    """How the rows of a batch are passed to an operation.

    rows:   the batch is padded with zero rows to a multiple of this.
    blocks: call the operation once per block of `rows` rows, each in memory of its own. All calls have the same shape,
            so a result can depend only on the row's position in its block. This is slow for many rows, but exact on
            machines on which no other strategy is.
    """

    rows: int = 1
    blocks: bool = False

    def __str__(self) -> str:
        """Return the name, as stored with kept results and as shown to people."""
        if self.blocks:
            return f"in blocks of {self.rows}" if self.rows > 1 else "one by one"
        return f"filled up to {self.rows}" if self.rows > 1 else "as they are"

    def apply(self, run: Callable[..., torch.Tensor], *parts: torch.Tensor) -> torch.Tensor:
        """Return run(*parts) for tensors with equal numbers of rows. The result has one row for each of them."""
        rows = len(parts[0])
        if missing := -rows % self.rows:
            parts = tuple(F.pad(part, (0, 0) * (part.ndim - 1) + (0, missing)) for part in parts)
        if not self.blocks:
            return run(*parts)[:rows]
        blocks = zip(*(part.split(self.rows) for part in parts), strict=True)
        return torch.cat([run(*(part.clone() for part in block)) for block in blocks])[:rows]


PLAIN, ONE_BY_ONE = Strategy(), Strategy(1, blocks=True)
# On AMD processors MKL divides the rows between the threads, and multiplies parts of fewer than four rows with other
# kernels; padding to a multiple of four avoids those. On other processors padding that passes for the tested numbers of
# rows may fail for others, so only blocks, which all have one shape, are tried there.
FOURS = (Strategy(4),) if vendor() == AMD else ()
STRATEGIES: tuple[Strategy, ...] = (PLAIN, *FOURS, Strategy(16, blocks=True), Strategy(4, blocks=True), ONE_BY_ONE)

EXACT = torch.float32  # 16-bit types are not tried: rows that pass the trials still differ occasionally in a batch

Task = tuple[object, ...]  # the operation, its sizes and the dtype

DISTINCT = 3  # number of different rows in a trial
COUNTS = (1, 2, 3, 5, 8, 9, 13, 16, 22, 33, 88, 352)
MAX_WORK = 2**30  # multiplications in one trial of a strategy; larger tasks are tried with fewer row counts
MIN_COUNTS = 4

_found: dict[tuple[Task, int], Strategy | None] = {}
_remembered: dict[tuple[str, int], Strategy | None] = {}


def strategy_for(
    task: Task, try_it: Callable[[Strategy], bool], strategies: Sequence[Strategy] = STRATEGIES
) -> Strategy:
    """Return the strategy for a task; the first of `strategies` if none of them is exact.

    try_it: returns whether a strategy is exact for this task; called only for a task without a result.
    """
    key = task, torch.get_num_threads()
    if key not in _found:
        name = task_name(task), key[1]
        _found[key] = _remembered[name] if name in _remembered else next(filter(try_it, strategies), None)
    return _found[key] or strategies[0]


def task_name(task: Task) -> str:
    return " ".join(map(str, task))


def holds(
    strategy: Strategy,
    run: Callable[..., torch.Tensor],
    *parts: torch.Tensor,
    work: int,
    counts: Sequence[int] = COUNTS,
) -> bool:
    """Return whether a row's result has the same bits for any number of rows and at any position.

    parts:  the inputs of `run`, DISTINCT rows each.
    work:   multiplications per row.
    counts: the numbers of rows to try, in ascending order. The last ones are left out for large tasks.
    """
    while len(counts) > MIN_COUNTS and sum(counts) * work > MAX_WORK:
        counts = counts[:-1]
    expected = None
    for count in reversed(counts):
        which = torch.arange(count) % DISTINCT
        result = strategy.apply(run, *(part[which] for part in parts))
        expected = result[:DISTINCT] if expected is None else expected
        if not torch.equal(result, expected[which]):
            return False
    return True


def found(threads: int) -> dict[str, Strategy | None]:
    """Return the results so far for a number of threads, by task name; None if no strategy is exact."""
    return {task_name(task): strategy for (task, of), strategy in _found.items() if of == threads}


def remember(strategies: Mapping[str, Strategy | None], threads: int) -> None:
    """Use results of an earlier process on this machine. Results of trials in this process take precedence."""
    _remembered.update({(name, threads): strategy for name, strategy in strategies.items()})


def reset() -> None:
    """Discard all results, so that every task is tried again."""
    _found.clear()
    _remembered.clear()


def trial_inputs(*shape: int, seed: int, spread: bool = False) -> torch.Tensor:
    """Return fixed pseudorandom inputs for a trial, float32.

    spread: scale the values by many powers of two, so that every change in the order of a sum changes its result.
    """
    count = 1
    for size in shape:
        count *= size
    generator = torch.Generator().manual_seed(seed)
    few = torch.randn(min(count, 10_007), generator=generator)  # drawing all values would take longer than the trial
    if spread:
        few *= 2.0 ** torch.randint(-6, 7, few.shape, generator=generator)
    return few.repeat(-(-count // len(few)))[:count].view(shape)


def resolve_functions() -> None:
    """Call each function of MKL's vector library once, from a single thread.

    The first call of a function selects the code for this processor. If several threads make that call at the same
    time, one of them can get low-accuracy code for its part of the values (pytorch/pytorch#188792).
    """
    one = torch.ones(1)
    for function in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.rsqrt):
        function(one)
