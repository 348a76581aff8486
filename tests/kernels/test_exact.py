"""A way is taken only when rows have the same bits in it, however many there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from voxcli.kernels import exact
from voxcli.kernels.exact import AS_THEY_ARE, ONE_BY_ONE, Way

SIXTEEN, FOUR = Way(16, blocks=True), Way(4, blocks=True)
ALL = (AS_THEY_ARE, Way(4), SIXTEEN, FOUR, ONE_BY_ONE)


@pytest.fixture(autouse=True)
def nothing_found(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(exact, "_found", {})
    monkeypatch.setattr(exact, "_remembered", {})
    yield


@pytest.mark.parametrize("way", ALL, ids=str)
@pytest.mark.parametrize("rows", [1, 3, 4, 16, 17, 35])
def test_every_way_gives_what_the_operation_gives(way: Way, rows: int) -> None:
    x, other = torch.arange(rows * 6.0).view(rows, 2, 3), torch.arange(float(rows))[:, None]
    shapes = set()

    def run(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        shapes.add(len(x))
        assert len(other) == len(x)
        return x.sum(1) + other

    assert torch.equal(way.apply(run, x, other), x.sum(1) + other)
    assert shapes == {way.rows if way.blocks else -(-rows // way.rows) * way.rows}


def one_shape(x: torch.Tensor) -> torch.Tensor:
    """Adds in another order for each number of rows."""
    return x.sum(1) + len(x) * 1e-6


def places(x: torch.Tensor) -> torch.Tensor:
    """A row's place decides, as in kernels that treat the last rows of four in another way."""
    return x.sum(1) + 1e-6 * (torch.arange(len(x)) % 4 == 3)


def fours(x: torch.Tensor) -> torch.Tensor:
    """What is beyond whole fours is added in another order."""
    return x.sum(1) + 1e-6 * (torch.arange(len(x)) >= len(x) // 4 * 4)


def beyond_33(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1) + 1e-6 * (len(x) > 33)


def threads(x: torch.Tensor) -> torch.Tensor:
    return one_shape(x) if torch.get_num_threads() > 1 else x.sum(1)


def never(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1) + 1e-6 * torch.rand(len(x))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda x: x.sum(1), AS_THEY_ARE),
        (fours, Way(4)),
        (beyond_33, SIXTEEN),
        (one_shape, SIXTEEN),
        (places, ONE_BY_ONE),
        (never, None),
    ],
)
def test_the_first_way_that_holds_is_taken(run: object, expected: Way | None) -> None:
    rows = exact.numbers(exact.DISTINCT, 5, seed=1)
    way = exact.way_of(("sum", 5), lambda way: exact.holds(way, run, rows, work=5), ALL)  # type: ignore[arg-type]
    assert way == expected or (expected is None and way == AS_THEY_ARE)
    assert exact.found(torch.get_num_threads()) == {"sum 5": expected}


def test_the_question_is_asked_once_for_each_number_of_threads() -> None:
    rows = exact.numbers(exact.DISTINCT, 5, seed=1)
    asked = []

    def try_it(way: Way) -> bool:
        asked.append((torch.get_num_threads(), way))
        return exact.holds(way, threads, rows, work=5)

    before = torch.get_num_threads()
    try:
        for count, expected in ((1, AS_THEY_ARE), (2, SIXTEEN), (1, AS_THEY_ARE), (2, SIXTEEN)):
            torch.set_num_threads(count)
            assert exact.way_of(("sum",), try_it, (AS_THEY_ARE, SIXTEEN)) == expected
    finally:
        torch.set_num_threads(before)
    assert asked == [(1, AS_THEY_ARE), (2, AS_THEY_ARE), (2, SIXTEEN)]


def test_what_is_remembered_is_not_asked_again() -> None:
    exact.remember({"sum 5": SIXTEEN, "sum 6": None}, torch.get_num_threads())

    def ask(way: Way) -> bool:
        raise AssertionError("asked again")

    assert exact.way_of(("sum", 5), ask) == SIXTEEN
    assert exact.way_of(("sum", 6), ask) == AS_THEY_ARE
    exact.forget()
    with pytest.raises(AssertionError, match="asked again"):
        exact.way_of(("sum", 5), ask)


def test_large_operations_are_tried_with_fewer_rows_and_never_with_less_than_four_numbers_of_them() -> None:
    rows = exact.numbers(exact.DISTINCT, 1, seed=1)
    seen: list[int] = []

    def run(x: torch.Tensor) -> torch.Tensor:
        seen.append(len(x))
        return x.clone()

    for work, largest in ((1, 352), (exact.MAX_WORK // 100, 22), (exact.MAX_WORK, 5)):
        seen.clear()
        assert exact.holds(AS_THEY_ARE, run, rows, work=work)
        assert seen[0] == max(seen) == largest


def test_the_numbers_of_a_trial_are_always_the_same_and_show_the_order_of_a_sum() -> None:
    first, second = (exact.numbers(3, 2048, seed=7, spread=True) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, exact.numbers(3, 2048, seed=8, spread=True))
    assert exact.numbers(300, 200, seed=1).shape == (300, 200)
    for row in first.numpy():
        assert row.cumsum()[-1] != row[::-1].cumsum()[-1]


@pytest.mark.parametrize(("columns", "width"), [(1792, 384), (2, 384), (24, 40)])
def test_products_in_every_way(columns: int, width: int) -> None:
    x, weight = exact.numbers(37, width, seed=1), exact.numbers(columns, width, seed=2)
    for way in ALL:
        torch.testing.assert_close(
            way.apply(lambda rows: F.linear(rows, weight), x), x @ weight.T, atol=1e-4, rtol=1e-4
        )
