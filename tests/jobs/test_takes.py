from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.jobs.job import Job, job_key, request_id
from voxcli.jobs.plan import make_plan
from voxcli.jobs.result import Result, Review
from voxcli.jobs.settings import Settings
from voxcli.jobs.takes import (
    SPAN,
    best_take,
    drawn_seed,
    is_free,
    line_output,
    requested_seed,
    take_path,
    takes_of,
)

JOB = Job("a", "Hello.", Path("deep/a.b.flac"), "flac", takes=3, line=4)
OK = Result("a", "deep/a.b.flac", "Hello.", "ok", seed=1)


def test_takes_lie_beside_the_file_of_the_first() -> None:
    takes = [each.job for each in takes_of(make_plan([JOB]).utterances)]
    assert [take.out.as_posix() for take in takes] == [
        "deep/a.b.flac",
        "deep/a.b.take2.flac",
        "deep/a.b.take3.flac",
    ]
    assert [take.recorded_take for take in takes] == [1, 2, 3]
    assert str(takes[1]) == "line 4 (a, take 2)"
    assert str(replace(JOB, takes=1)) == "line 4 (a)" and replace(JOB, takes=1).recorded_take is None
    for take in takes:
        result = replace(OK, out=take.out.as_posix(), take=take.take)
        assert line_output(result) == "deep/a.b.flac"
        assert result.key == take.key == job_key(request_id(take, 7))
    assert len({take.key for take in takes}) == 3


@pytest.mark.parametrize("takes", [0, 100, -1])
def test_the_number_of_takes_has_limits(takes: int) -> None:
    with pytest.raises(InputError, match=f"takes must be from 1 to 99, not {takes}"):
        replace(JOB, takes=takes)


def test_seeds_of_takes_are_derived_from_the_line_s() -> None:
    """Written down: other values would speak every line with a seed again."""
    seeded = replace(JOB, settings=Settings(seed=7))
    seeds = [each.job.settings.seed for each in takes_of(make_plan([seeded]).utterances)]
    assert seeds == [7, SECOND, THIRD]
    assert [each.job.settings.seed for each in takes_of(make_plan([JOB]).utterances)] == [None, None, None]


SECOND, THIRD = 664150576, 670947902  # the first 31 bits of SHA-256 of "7 2 0" and "7 3 0"


def made(spoken: int, asked: int | None) -> Result:
    return replace(OK, seed=spoken, fingerprint={"seed": asked})


def test_a_rejected_seed_is_not_asked_for_again() -> None:
    job = replace(JOB, settings=Settings(seed=7))
    first = requested_seed(job, 1, (), None)
    second = requested_seed(job, 1, {7}, made(7, 7))
    third = requested_seed(job, 1, {7, second}, made(second or 0, second))
    assert first == 7 and len({first, second, third}) == 3
    assert requested_seed(job, 1, {7}, None) == second, "it does not depend on the file"
    assert requested_seed(job, 1, {9}, None) == second, "7 failed and was made with 9, two seeds later"
    assert requested_seed(job, 1, {7}, made(second or 0, second)) == second
    assert requested_seed(job, 1, {20}, made(7, 7)) == 7, "another take was rejected: this one stays"
    assert requested_seed(job, 1, {20}, made(8, 8)) == second, "of another seed of the line"
    assert requested_seed(JOB, 1, {7}, made(7, None)) is None


def test_a_drawn_seed_is_away_from_rejected_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter([5, 100, 100 - SPAN + 1, 101])
    monkeypatch.setattr("secrets.randbits", lambda bits: next(draws))
    assert drawn_seed({5, 100}) == 101
    assert [is_free(seed, {100}) for seed in (100 - SPAN, 100 - SPAN + 1, 100, 101)] == [True, False, False, True]


def take(number: int, **values: object) -> Result:
    return replace(OK, take=number, **values)  # type: ignore[arg-type]


def test_the_best_take_is_the_approved_one_else_the_first_that_is_not_rejected() -> None:
    approved, rejected = Review("approved"), Review("rejected", seeds=(1,))
    assert best_take([]) is None
    assert best_take([take(1, status="failed")]) is None
    assert best_take([take(2), take(1), take(3)]) == take(1)
    assert best_take([take(1, status="failed"), take(3), take(2)]) == take(2)
    assert best_take([take(1), take(2, review=approved)]) == take(2, review=approved)
    assert best_take([take(1, review=rejected), take(2)]) == take(2)
    assert best_take([take(1, review=rejected)]) == take(1, review=rejected)


def test_the_file_of_a_take_is_named_after_the_line_s() -> None:
    assert take_path(Path("x/a.wav"), 1) == Path("x/a.wav")
    assert take_path(Path("x/a.wav"), 12) == Path("x/a.take12.wav")
