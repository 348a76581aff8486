"""A strategy is chosen only if it gives each row the same bits for any number of rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from voxcli.kernels import exact
from voxcli.kernels.exact import ONE_BY_ONE, PLAIN, Strategy

SIXTEEN, FOUR = Strategy(16, blocks=True), Strategy(4, blocks=True)
ALL = (PLAIN, Strategy(4), SIXTEEN, FOUR, ONE_BY_ONE)


@pytest.fixture(autouse=True)
def no_results(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(exact, "_found", {})
    monkeypatch.setattr(exact, "_remembered", {})
    yield


@pytest.mark.parametrize("strategy", ALL, ids=str)
@pytest.mark.parametrize("rows", [1, 3, 4, 16, 17, 35])
def test_every_strategy_gives_the_result_of_the_operation(strategy: Strategy, rows: int) -> None:
    x, other = torch.arange(rows * 6.0).view(rows, 2, 3), torch.arange(float(rows))[:, None]
    shapes = set()

    def run(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        shapes.add(len(x))
        assert len(other) == len(x)
        return x.sum(1) + other

    assert torch.equal(strategy.apply(run, x, other), x.sum(1) + other)
    assert shapes == {strategy.rows if strategy.blocks else -(-rows // strategy.rows) * strategy.rows}


def depends_on_count(x: torch.Tensor) -> torch.Tensor:
    """Each number of rows has its own order of summation."""
    return x.sum(1) + len(x) * 1e-6


def depends_on_position(x: torch.Tensor) -> torch.Tensor:
    """The position of a row decides, as in kernels that treat the last of four rows differently."""
    return x.sum(1) + 1e-6 * (torch.arange(len(x)) % 4 == 3)


def whole_fours(x: torch.Tensor) -> torch.Tensor:
    """Rows beyond the last multiple of four are summed in another order."""
    return x.sum(1) + 1e-6 * (torch.arange(len(x)) >= len(x) // 4 * 4)


def beyond_33(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1) + 1e-6 * (len(x) > 33)


def depends_on_threads(x: torch.Tensor) -> torch.Tensor:
    return depends_on_count(x) if torch.get_num_threads() > 1 else x.sum(1)


def random_bits(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1) + 1e-6 * torch.rand(len(x))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (lambda x: x.sum(1), PLAIN),
        (whole_fours, Strategy(4)),
        (beyond_33, SIXTEEN),
        (depends_on_count, SIXTEEN),
        (depends_on_position, ONE_BY_ONE),
        (random_bits, None),
    ],
)
def test_the_first_exact_strategy_is_chosen(run: object, expected: Strategy | None) -> None:
    rows = exact.trial_inputs(exact.DISTINCT, 5, seed=1)
    strategy = exact.strategy_for(("sum", 5), lambda strategy: exact.holds(strategy, run, rows, work=5), ALL)  # type: ignore[arg-type]
    assert strategy == expected or (expected is None and strategy == PLAIN)
    assert exact.found(torch.get_num_threads()) == {"sum 5": expected}


def test_a_task_is_tried_once_for_each_number_of_threads() -> None:
    rows = exact.trial_inputs(exact.DISTINCT, 5, seed=1)
    tried = []

    def try_it(strategy: Strategy) -> bool:
        tried.append((torch.get_num_threads(), strategy))
        return exact.holds(strategy, depends_on_threads, rows, work=5)

    before = torch.get_num_threads()
    try:
        for count, expected in ((1, PLAIN), (2, SIXTEEN), (1, PLAIN), (2, SIXTEEN)):
            torch.set_num_threads(count)
            assert exact.strategy_for(("sum",), try_it, (PLAIN, SIXTEEN)) == expected
    finally:
        torch.set_num_threads(before)
    assert tried == [(1, PLAIN), (2, PLAIN), (2, SIXTEEN)]


def test_a_remembered_result_is_not_tried_again() -> None:
    exact.remember({"sum 5": SIXTEEN, "sum 6": None}, torch.get_num_threads())

    def try_it(strategy: Strategy) -> bool:
        raise AssertionError("tried again")

    assert exact.strategy_for(("sum", 5), try_it) == SIXTEEN
    assert exact.strategy_for(("sum", 6), try_it) == PLAIN
    exact.reset()
    with pytest.raises(AssertionError, match="tried again"):
        exact.strategy_for(("sum", 5), try_it)


def test_large_operations_are_tried_with_fewer_row_counts_but_at_least_four() -> None:
    rows = exact.trial_inputs(exact.DISTINCT, 1, seed=1)
    seen: list[int] = []

    def run(x: torch.Tensor) -> torch.Tensor:
        seen.append(len(x))
        return x.clone()

    for work, largest in ((1, 352), (exact.MAX_WORK // 100, 22), (exact.MAX_WORK, 5)):
        seen.clear()
        assert exact.holds(PLAIN, run, rows, work=work)
        assert seen[0] == max(seen) == largest


def test_trial_inputs_are_always_the_same_and_reveal_the_order_of_a_sum() -> None:
    first, second = (exact.trial_inputs(3, 2048, seed=7, spread=True) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, exact.trial_inputs(3, 2048, seed=8, spread=True))
    assert exact.trial_inputs(300, 200, seed=1).shape == (300, 200)
    for row in first.numpy():
        assert row.cumsum()[-1] != row[::-1].cumsum()[-1]


@pytest.mark.parametrize(("columns", "width"), [(1792, 384), (2, 384), (24, 40)])
def test_products_are_correct_with_every_strategy(columns: int, width: int) -> None:
    x, weight = exact.trial_inputs(37, width, seed=1), exact.trial_inputs(columns, width, seed=2)
    for strategy in ALL:
        torch.testing.assert_close(
            strategy.apply(lambda rows: F.linear(rows, weight), x), x @ weight.T, atol=1e-4, rtol=1e-4
        )
