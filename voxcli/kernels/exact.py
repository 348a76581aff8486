"""In which way rows of a batch are computed on this CPU so that none depends on the others, to the last bit.

A library is free to add the products of a row in another order when there are fewer rows, or more threads. So a clip
would sound the same beside other clips, but not have the same bytes. Each operation that takes many rows at once is a
`Task`. Before a task is first used its ways are tried, the cheapest first, and the first one is taken in which every
row has the same bits for each of many numbers of rows. The trial is made of fixed numbers, so that a machine always
comes to the same answer, and it is made once for each number of threads.

Nothing here knows the operations themselves: `torch_ops` and `attention` bring theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from voxcli.kernels.processor import AMD, vendor


@dataclass(frozen=True)
class Way:
    """How rows are given to an operation.

    rows:   they are filled up with zeros to a multiple of this.
    blocks: so many at a time, in memory of their own: every call has one shape, and only a row's place in its block
            could tell. Slow for many rows, and it holds where nothing else does.
    """

    rows: int = 1
    blocks: bool = False

    def __str__(self) -> str:
        if self.blocks:
            return f"in blocks of {self.rows}" if self.rows > 1 else "one by one"
        return f"filled up to {self.rows}" if self.rows > 1 else "as they are"

    def apply(self, run: Callable[..., torch.Tensor], *parts: torch.Tensor) -> torch.Tensor:
        """run(*parts), whose result has a row for each of the parts' rows."""
        rows = len(parts[0])
        if missing := -rows % self.rows:
            parts = tuple(F.pad(part, (0, 0) * (part.ndim - 1) + (0, missing)) for part in parts)
        if not self.blocks:
            return run(*parts)[:rows]
        blocks = zip(*(part.split(self.rows) for part in parts), strict=True)
        return torch.cat([run(*(part.clone() for part in block)) for block in blocks])[:rows]


AS_THEY_ARE, ONE_BY_ONE = Way(), Way(1, blocks=True)
# On processors of AMD MKL gives each thread a part of the rows, and multiplies parts of less than four by other
# kernels. Elsewhere what holds for some numbers of rows filled up may fail for others: blocks of one shape do not.
FOURS = (Way(4),) if vendor() == AMD else ()
WAYS: tuple[Way, ...] = (AS_THEY_ARE, *FOURS, Way(16, blocks=True), Way(4, blocks=True), ONE_BY_ONE)

EXACT = torch.float32  # in 16 bit nothing is tried: rows that pass such trials still differ now and then in a batch

Task = tuple[object, ...]  # what is done, its sizes and the dtype

DISTINCT = 3  # rows that differ in a trial
COUNTS = (1, 2, 3, 5, 8, 9, 13, 16, 22, 33, 88, 352)
MAX_WORK = 2**30  # multiplications in one trial of a way; larger tasks are tried with fewer numbers of rows
MIN_COUNTS = 4

_found: dict[tuple[Task, int], Way | None] = {}
_remembered: dict[tuple[str, int], Way | None] = {}


def way_of(task: Task, try_it: Callable[[Way], bool], ways: Sequence[Way] = WAYS) -> Way:
    """The way for a task; where none holds, the first of `ways`.

    try_it: whether a way holds; only asked about tasks that are new.
    """
    key = task, torch.get_num_threads()
    if key not in _found:
        name = task_name(task), key[1]
        _found[key] = _remembered[name] if name in _remembered else next(filter(try_it, ways), None)
    return _found[key] or ways[0]


def task_name(task: Task) -> str:
    return " ".join(map(str, task))


def holds(
    way: Way, run: Callable[..., torch.Tensor], *parts: torch.Tensor, work: int, counts: Sequence[int] = COUNTS
) -> bool:
    """Whether a row's result has the same bits however many rows there are, and wherever it is among them.

    parts: DISTINCT rows each.  work: multiplications for a row.  counts: numbers of rows.
    """
    while len(counts) > MIN_COUNTS and sum(counts) * work > MAX_WORK:
        counts = counts[:-1]
    expected = None
    for count in reversed(counts):
        which = torch.arange(count) % DISTINCT
        result = way.apply(run, *(part[which] for part in parts))
        expected = result[:DISTINCT] if expected is None else expected
        if not torch.equal(result, expected[which]):
            return False
    return True


def found(threads: int) -> dict[str, Way | None]:
    """What has come out so far for a number of threads, by the tasks' names; None where no way holds."""
    return {task_name(task): way for (task, of), way in _found.items() if of == threads}


def remember(ways: Mapping[str, Way | None], threads: int) -> None:
    """Take over what came out earlier on this machine. What has been tried in this process stays."""
    _remembered.update({(name, threads): way for name, way in ways.items()})


def forget() -> None:
    """Try everything again."""
    _found.clear()
    _remembered.clear()


def numbers(*shape: int, seed: int, spread: bool = False) -> torch.Tensor:
    """Fixed random numbers for a trial. spread: over many powers of two, so that any other order of a sum shows."""
    count = 1
    for size in shape:
        count *= size
    generator = torch.Generator().manual_seed(seed)
    few = torch.randn(min(count, 10_007), generator=generator)  # drawing all would take longer than the trial
    if spread:
        few *= 2.0 ** torch.randint(-6, 7, few.shape, generator=generator)
    return few.repeat(-(-count // len(few)))[:count].view(shape)


def resolve_functions() -> None:
    """Call the functions of MKL's vector library once, each in one thread.

    It looks for the code that suits the processor in the first call. Where several threads are in that call at once,
    one of them can get code of low accuracy for its part of the numbers (pytorch/pytorch#188792).
    """
    one = torch.ones(1)
    for function in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.sqrt, torch.rsqrt):
        function(one)
