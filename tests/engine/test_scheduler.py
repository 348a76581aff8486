"""Admission, scheduling of prefills and allocation of pages: exact values, without a model."""

from __future__ import annotations

from typing import cast

import pytest
import torch

from voxcli.engine.pages import PagePool
from voxcli.engine.request import Request, Sampling
from voxcli.engine.scheduler import Scheduler
from voxcli.engine.sequence import Sequence
from voxcli.engine.state import StateTable
from voxcli.model.prompt import Prompt


class Rows:
    """A state table without tensors: which request owns which row, and the pages of each row."""

    def __init__(self, rows: int):
        self.owned: dict[str, int] = {}
        self.tables: dict[int, list[int]] = {row: [] for row in range(1, rows + 1)}

    @property
    def free(self) -> int:
        return len(self.tables) - len(self.owned)

    def acquire(self, request_id: str) -> int:
        row = min(self.tables.keys() - self.owned.values())
        self.owned[request_id] = row
        return row

    def release(self, request_id: str) -> None:
        self.tables[self.owned.pop(request_id)] = []

    def set_pages(self, row: int, start: int, pages: list[int]) -> None:
        assert len(self.tables[row]) == start, "pages are set in order"
        self.tables[row] += pages


def scheduler(rows: int = 4, pages: int = 20) -> Scheduler:
    """pages: number of pages that can be allocated, 16 positions each."""
    return Scheduler(PagePool(pages + 1), cast(StateTable, Rows(rows)))


def sequence(name: str, order: int, tokens: int = 5, limit: int = 100, positions: int = 0) -> Sequence:
    """tokens: number of tokens of the text; positions: number of positions of the prompt; 0: as many as tokens."""
    length = positions or tokens
    prompt = Prompt(
        torch.zeros(length, dtype=torch.int64), torch.zeros(length, dtype=torch.bool), torch.empty(0, 2, 8), tokens
    )
    return Sequence(Request(name, prompt, Sampling()), order, limit, seed=1)


def names(sequences: list[Sequence]) -> list[str]:
    return [sequence.request_id for sequence in sequences]


def tables(scheduler: Scheduler) -> dict[int, list[int]]:
    return cast(Rows, scheduler.state).tables


# -- admission ---------------------------------------------------------------------------------------------------------
def test_the_longest_text_is_admitted_first_and_of_equal_ones_the_oldest() -> None:
    one = scheduler(rows=8)
    for order, (name, tokens) in enumerate((("b", 5), ("a", 9), ("d", 5), ("c", 2))):
        one.add(sequence(name, order, tokens))
    assert (len(one), one.waiting) == (4, 4)
    assert names(one.admit()) == names(one.running) == ["a", "b", "d", "c"]
    assert (len(one), one.waiting) == (4, 0)
    assert one.admit() == []


def test_the_expected_length_is_bounded_by_the_limit() -> None:
    one = scheduler()
    one.add(sequence("long but limited", 0, tokens=50, limit=3))
    one.add(sequence("short", 1, tokens=4))
    assert names(one.admit()) == ["short", "long but limited"]


def test_preempted_sequences_are_admitted_before_new_ones() -> None:
    one = scheduler(rows=1)
    one.add(sequence("long", 0, tokens=50))
    one.add(sequence("preempted", 1, tokens=2), first=True)
    one.add(sequence("preempted and longer", 2, tokens=3), first=True)
    order = []
    while len(one):
        order += names(one.admit())
        one.release(one.running[0])
    assert order == ["preempted and longer", "preempted", "long"]


def test_admission_is_limited_by_max_running() -> None:
    one = scheduler(rows=3)
    assert one.max_running == 3
    for order in range(5):
        one.add(sequence(f"{order}", order))
    assert names(one.admit()) == ["0", "1", "2"]
    one.release(one.running[1])
    assert names(one.admit()) == ["3"]
    one.max_running = 1  # as after memory ran out
    for running in list(one.running):
        one.release(running)
    assert names(one.admit()) == ["4"]


def busy(rows: int, waiting: int) -> Scheduler:
    """All rows run, and so many more requests wait."""
    busy = scheduler(rows, pages=4 * rows)
    for number in range(rows + waiting):
        busy.add(sequence(f"s{number:03}", number))
    busy.admit()
    return busy


def test_rows_are_filled_together_while_more_requests_wait_than_rows_are_free() -> None:
    full = busy(rows=64, waiting=40)
    for expected in ([], [], [], ["s064", "s065", "s066", "s067"], []):  # a sixteenth of the rows
        full.release(full.running[0])
        assert names(full.admit()) == expected


@pytest.mark.parametrize(("rows", "waiting"), [(64, 1), (31, 5), (8, 30)])
def test_a_row_is_filled_at_once_if_few_requests_wait_or_run(rows: int, waiting: int) -> None:
    full = busy(rows, waiting)
    full.release(full.running[0])
    assert names(full.admit()) == [f"s{rows:03}"]


def test_rows_are_filled_at_once_if_nothing_runs() -> None:
    full = busy(rows=32, waiting=40)
    for running in list(full.running):
        full.release(running)
    assert len(full.admit()) == 32


@pytest.mark.parametrize(("positions", "pages"), [(1, 1), (15, 1), (16, 2), (31, 2), (32, 3)])
def test_admission_allocates_pages_for_the_prompt_and_the_first_patch(positions: int, pages: int) -> None:
    one = scheduler(pages=20)
    one.add(sequence("a", 0, positions=positions))
    [admitted] = one.admit()
    assert (admitted.row, admitted.pages) == (1, list(range(1, pages + 1)))
    assert tables(one)[1] == admitted.pages
    assert one.pool.free == 20 - pages
    one.check_integrity()


def test_admission_keeps_a_free_page_for_each_running_row() -> None:
    one = scheduler(rows=4, pages=5)
    for order in range(4):
        one.add(sequence(f"{order}", order, positions=16))  # two pages each
    assert names(one.admit()) == ["0", "1"], "one page is left, two rows run"
    assert one.pool.free == 1
    one.release(one.running[0])
    assert names(one.admit()) == ["2"]


def test_a_request_alone_may_use_all_pages() -> None:
    one = scheduler(rows=2, pages=3)
    one.add(sequence("a", 0, positions=47))
    one.add(sequence("b", 1))
    assert names(one.admit()) == ["a"]
    assert one.pool.free == 0


def test_no_request_overtakes_one_that_waits_for_pages() -> None:
    """Otherwise a long prompt might wait forever."""
    one = scheduler(rows=4, pages=4)
    one.add(sequence("runs", 0, tokens=99, positions=16))
    assert names(one.admit()) == ["runs"]
    one.add(sequence("large", 1, tokens=50, positions=31))
    one.add(sequence("small", 2, tokens=2))
    assert one.admit() == []
    one.release(one.running[0])
    assert names(one.admit()) == ["large", "small"]


def test_a_waiting_sequence_can_be_removed() -> None:
    one = scheduler(rows=8)
    for order, tokens in enumerate((3, 9, 5, 7, 1)):
        one.add(sequence(f"{order}", order, tokens))
    taken = one.remove_waiting("3")
    assert taken is not None and taken.request_id == "3"
    assert one.remove_waiting("3") is None
    assert names(one.admit()) == ["1", "2", "0", "4"]
    assert one.remove_waiting("1") is None, "it is running"


# -- prefill -----------------------------------------------------------------------------------------------------------
def prefilled(scheduler: Scheduler, budget: int) -> list[tuple[str, int]]:
    """Schedule a step's prefill, mark it as done, and return it."""
    plan = list(scheduler.schedule_prefill(budget))
    for one, share in plan:
        one.prefilled += share
    return [(one.request_id, share) for one, share in plan]


def test_prompts_are_prefilled_in_order_within_the_budget() -> None:
    one = scheduler()
    for order, positions in enumerate((10, 6, 5, 4)):
        one.add(sequence(f"{order}", order, tokens=20 - order, positions=positions))
    one.admit()
    assert prefilled(one, 16) == [("0", 10), ("1", 6)]
    assert prefilled(one, 16) == [("2", 5), ("3", 4)]
    assert prefilled(one, 16) == []


def test_the_chunks_of_a_prompt_depend_on_its_own_length_only() -> None:
    """The rest of a budget is not used for a part of a prompt: its bits would depend on the other requests."""
    one = scheduler(pages=20)
    one.add(sequence("short", 0, tokens=20, positions=6))
    one.add(sequence("long", 1, tokens=10, positions=40))
    one.admit()
    assert [prefilled(one, 16) for _ in range(4)] == [[("short", 6)], [("long", 16)], [("long", 16)], [("long", 8)]]


def test_the_last_chunk_of_a_prompt_can_share_a_step_with_another_prompt() -> None:
    one = scheduler(pages=20)
    one.add(sequence("long", 0, tokens=20, positions=20))
    one.add(sequence("short", 1, tokens=10, positions=12))
    one.admit()
    assert [prefilled(one, 16) for _ in range(2)] == [[("long", 16)], [("long", 4), ("short", 12)]]


# -- pages -------------------------------------------------------------------------------------------------------------
def test_a_page_is_allocated_when_the_next_patch_needs_one() -> None:
    one = scheduler(pages=3)
    one.add(sequence("a", 0, positions=14))
    [row] = one.admit()
    counts = []
    for patches in range(34):
        row.patches = patches
        assert one.allocate_next(row)
        counts.append(len(row.pages))
        one.check_integrity()
    assert counts == [1] * 2 + [2] * 16 + [3] * 16
    assert tables(one)[row.row] == row.pages == [1, 2, 3]


def test_allocation_fails_if_no_page_is_free() -> None:
    one = scheduler(rows=2, pages=2)
    one.add(sequence("a", 0, positions=15))
    [row] = one.admit()
    row.patches = 16
    assert one.allocate_next(row) and one.pool.free == 0
    row.patches = 17
    assert not one.allocate_next(row)
    assert row.pages == [1, 2], "it keeps its pages"
    row.patches = 16
    assert one.allocate_next(row), "its pages are sufficient"


def test_released_rows_and_pages_are_reused() -> None:
    one = scheduler(rows=2, pages=5)
    for order in range(2):
        one.add(sequence(f"{order}", order, positions=16))
    first, second = one.admit()
    assert (first.row, first.pages, second.row, second.pages) == (1, [1, 2], 2, [3, 4])
    one.release(first)
    assert (first.row, first.pages) == (0, [])
    assert (one.pool.free, tables(one)[1], names(one.running)) == (3, [], ["1"])
    one.check_integrity()
    one.add(sequence("2", 2, positions=16))
    [third] = one.admit()
    assert (third.row, third.pages) == (1, [1, 2])
    one.check_integrity()


def test_after_a_preemption_pages_for_the_kept_patches_are_allocated() -> None:
    one = scheduler(rows=2, pages=6)
    one.add(sequence("a", 0, positions=16))
    [row] = one.admit()
    row.patches = 20
    one.release(row)
    row.preempt(torch.zeros(20, 2, 8))
    one.add(row, first=True)
    assert one.admit() == [row]
    assert len(row.pages) == 3, "16 positions, 20 patches and the next one"
    assert prefilled(one, 100) == [("a", 36)]


def test_check_integrity_finds_lost_pages_and_rows() -> None:
    one = scheduler(rows=2, pages=4)
    one.add(sequence("a", 0, positions=16))
    [row] = one.admit()
    lost = row.pages.pop()
    with pytest.raises(AssertionError, match="4 pages, but 2 free and 1 owned"):
        one.check_integrity()
    row.pages.append(lost)
    cast(Rows, one.state).owned["b"] = 2
    with pytest.raises(AssertionError, match=r"requests run in \{'a': 1\}"):
        one.check_integrity()
