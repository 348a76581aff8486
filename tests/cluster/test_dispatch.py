"""Dispatching: the rules one by one, then all of them under random results, deaths and rebalancing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxcli.cluster.dispatch import Dispatcher, Task, WorkerLoad
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Utterance


def utterances(count: int, first: int = 0) -> list[Utterance]:
    return [Utterance(Job(f"{n}", "Hello.", Path(f"{n}.wav")), (), "", 1.0) for n in range(first, first + count)]


def cluster(lines: int, *rows: int, max_retries: int = 3) -> Dispatcher:
    """Make a dispatcher with loaded workers a, b, ..."""
    dispatch = Dispatcher(max_retries)
    dispatch.add(utterances(lines))
    for name, count in zip("abcdef", rows, strict=False):
        dispatch.expect(name)
        dispatch.join(name, count)
    return dispatch


def given_out(dispatch: Dispatcher) -> dict[str, list[str]]:
    return {name: [line.id for line in lines] for name, lines in dispatch.hand_out().items()}


def test_the_longest_go_first_to_each_worker_in_turn_rows_and_half_as_many() -> None:
    dispatch = cluster(100, 4, 4)
    assert given_out(dispatch) == {"a": ["0", "2", "4", "6", "8", "10"], "b": ["1", "3", "5", "7", "9", "11"]}
    assert given_out(dispatch) == {}
    assert dispatch.finish("a", "2") is not None
    assert given_out(dispatch) == {"a": ["12"]}
    assert dispatch.unfinished == 99


def test_an_engine_of_one_row_has_its_next_line_there() -> None:
    assert given_out(cluster(9, 1)) == {"a": ["0", "1"]}


def test_few_lines_are_shared_also_with_a_worker_that_still_loads() -> None:
    dispatch = cluster(6, 32)
    dispatch.expect("late")
    assert given_out(dispatch) == {"a": ["0", "1", "2"]}
    dispatch.lost("late")
    assert given_out(dispatch) == {"a": ["3", "4", "5"]}


def test_after_one_death_a_line_runs_with_a_quarter_beside_it_after_two_alone() -> None:
    dispatch = cluster(8, 8)
    assert len(given_out(dispatch)["a"]) == 8
    assert dispatch.lost("a") == []
    dispatch.expect("b")
    dispatch.join("b", 8)
    assert given_out(dispatch) == {"b": ["0", "1", "2"]}
    dispatch.lost("b")
    dispatch.expect("c")
    dispatch.join("c", 8)
    assert given_out(dispatch) == {"c": ["3", "4", "5"]}, "lines with one death go before lines with two"
    for name in "345":
        dispatch.finish("c", name)
    assert given_out(dispatch) == {"c": ["6", "7"]}
    dispatch.finish("c", "6")
    assert given_out(dispatch) == {}, "a line that runs alone waits until the worker is empty"
    dispatch.finish("c", "7")
    assert given_out(dispatch) == {"c": ["0"]}
    assert given_out(dispatch) == {}


def test_a_suspect_joins_only_small_company_and_keeps_it_small() -> None:
    load = WorkerLoad(rows=8)
    clean, suspect = (Task(utterances(1, n)[0], n, n) for n in (0, 1))
    assert (load.beside(clean), load.beside(suspect)) == (11, 2)
    for n in range(2, 4):
        load.put(Task(utterances(1, n)[0], n))
    assert load.has_room_for(suspect)
    load.put(suspect)
    assert not load.has_room_for(clean), "it holds three: the suspect and two others"


def test_a_line_fails_when_it_may_not_run_again() -> None:
    dispatch = cluster(1, 4, max_retries=1)
    given_out(dispatch)
    assert dispatch.lost("a") == []
    dispatch.expect("b")
    dispatch.join("b", 4)
    assert given_out(dispatch) == {"b": ["0"]}
    (failed,) = dispatch.lost("b")
    assert (failed.id, failed.deaths, dispatch.unfinished) == ("0", 2, 0)


def test_a_line_that_killed_twice_alone_fails_unless_workers_die_without_it() -> None:
    for others in (0, 1):
        dispatch = cluster(1 + others, *[1] * (1 + others), max_retries=9)
        assert len(given_out(dispatch)["a"]) == 1
        if others:
            dispatch.lost("b")  # with the other line
        for death in range(2):
            failed = dispatch.lost("a")
            assert len(failed) == (death == 1 and not others)
            if not failed:
                dispatch.expect("a")
                dispatch.join("a", 1)
                given_out(dispatch)


def test_at_the_tail_lines_that_have_not_begun_move_to_a_worker_that_is_under_half_full() -> None:
    dispatch = cluster(6, 4)
    assert len(given_out(dispatch)["a"]) == 6
    dispatch.expect("b")
    dispatch.join("b", 4)
    assert given_out(dispatch) == {}
    assert dispatch.rebalance() == ("a", 3)
    assert dispatch.rebalance() is None, "the first answer is still open"
    dispatch.given_back("a", ["5", "4"])
    assert given_out(dispatch) == {"b": ["4", "5"]}
    assert dispatch.rebalance() is None, "b is half full"
    dispatch.finish("b", "5")
    assert dispatch.rebalance() == ("a", 1)
    dispatch.given_back("a", [])
    assert dispatch.rebalance() is None, "a has begun all it has"


def test_a_line_ends_once_and_where_it_is() -> None:
    dispatch = cluster(6, 4)
    given_out(dispatch)
    dispatch.expect("b")
    dispatch.join("b", 4)
    dispatch.given_back("a", ["5"])
    given_out(dispatch)
    assert dispatch.finish("a", "5") is None, "b holds it now"
    assert dispatch.finish("b", "5") is not None
    assert dispatch.finish("b", "5") is None
    dispatch.given_back("gone", ["1"])
    assert dispatch.unfinished == 5


ROWS = (1, 2, 5, 8)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 60),
    st.lists(st.sampled_from(ROWS), min_size=1, max_size=4),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=150),
)
def test_every_line_ends_once_whatever_happens(
    count: int, rows: list[int], max_retries: int, moves: list[tuple[int, int]]
) -> None:
    """Random moves finish lines, kill workers, give lines back and add late lines; then the rest finishes calmly."""
    dispatch = Dispatcher(max_retries)
    late = utterances(count)[count // 2 :]
    dispatch.add(utterances(count)[: count // 2])
    alive = {f"w{n}": size for n, size in enumerate(rows)}
    for name, size in alive.items():
        dispatch.expect(name)
        dispatch.join(name, size)
    runs = dict.fromkeys(map(str, range(count)), 0)
    deaths = dict.fromkeys(runs, 0)
    alone = dict.fromkeys(runs, 0)
    where: dict[str, str] = {}
    ended: list[str] = []
    given_up: set[str] = set()

    def turn() -> None:
        for name, lines in dispatch.hand_out().items():
            for line in lines:
                assert line.id not in where and line.id not in ended
                where[line.id] = name
                runs[line.id] += 1
        for name, load in dispatch.loads.items():
            mine = [identity for identity, there in where.items() if there == name]
            assert sorted(mine) == sorted(load.lines)
            suspects = [deaths[identity] for identity in mine if deaths[identity]]
            assert len(mine) <= load.capacity
            if suspects:
                assert len(mine) - 1 <= (load.rows // 4 if max(suspects) == 1 else 0)

    def kill(name: str) -> None:
        size = alive.pop(name)
        mine = [identity for identity, there in where.items() if there == name]
        for identity in mine:
            del where[identity]
            deaths[identity] += 1
            alone[identity] += len(mine) == 1
        for line in dispatch.lost(name):
            assert deaths[line.id] == max_retries + 1 or (alone[line.id] == 2 and deaths[line.id] == dispatch.deaths)
            given_up.add(line.id)
            ended.append(line.id)
        fresh = f"{name}'"
        alive[fresh] = size
        dispatch.expect(fresh)
        dispatch.join(fresh, size)

    def finish(which: int) -> None:
        if where:
            identity = sorted(where)[which % len(where)]
            assert dispatch.finish(where.pop(identity), identity) is not None
            ended.append(identity)

    def rob(which: int) -> None:
        if (asked := dispatch.rebalance()) is not None:
            name, limit = asked
            mine = [identity for identity, there in where.items() if there == name]
            back = mine[len(mine) - which % (limit + 1) :]
            for identity in back:
                del where[identity]
                runs[identity] -= 1
            dispatch.given_back(name, back)

    turn()
    for move, which in moves:
        if move == 0:
            kill(sorted(alive)[which % len(alive)])
        elif move < 3:
            rob(which)
        elif move == 3 and late:
            dispatch.add([late.pop(0)])
        else:
            finish(which)
        turn()
    dispatch.add(late)
    for _ in range(3 * count):
        turn()
        rob(1)
        turn()
        finish(0)
    assert sorted(ended, key=int) == list(runs), "each once"
    assert dispatch.unfinished == dispatch.queued == 0
    assert all(runs[identity] == deaths[identity] + (identity not in given_up) for identity in runs)
    assert max(runs.values()) <= max_retries + 1


@pytest.mark.parametrize("lines", [400])
def test_two_workers_are_given_the_same_work_to_the_end(lines: int) -> None:
    """Each worker finishes one line per turn, so neither may be idle before the other."""
    dispatch = cluster(lines, 32, 32)
    for _ in range(lines // 2):
        dispatch.hand_out()
        sizes = [len(load.lines) for load in dispatch.loads.values()]
        assert abs(sizes[0] - sizes[1]) <= 1
        for name, load in dispatch.loads.items():
            dispatch.finish(name, next(iter(load.lines)))
    assert dispatch.unfinished == 0
