"""What earlier runs recorded: the takes of a line, whatever the case of its id."""

from __future__ import annotations

from pathlib import Path

from voxcli.jobs.history import Earlier, History
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result


def history(identity: str, take: int | None = None, status: str = "ok") -> History:
    result = Result(identity, f"{identity}.wav", "Hello.", status, take=take)  # type: ignore[arg-type]
    return History(result, result if result.ok else None)


def earlier(*histories: History) -> Earlier:
    return Earlier(Path("out"), {each.last.key: each for each in histories})


def job(identity: str, take: int = 1) -> Job:
    return Job(identity, "Hello.", Path("out", "a.wav"), take=take, takes=3)


def test_the_takes_of_a_line() -> None:
    only, first, third = history("only"), history("fog", 1), history("fog", 3)
    found = earlier(only, third, first, history("foggy", 2))
    assert found.takes_of(job("only")) == {1: only}
    assert found.takes_of(job("fog")) == {1: first, 3: third}
    assert list(found.takes_of(job("foggy"))) == [2]
    assert found.takes_of(job("sun")) == {}
    assert [found.of(job("fog", take)) for take in (1, 2, 3)] == [first, None, third]


def test_ids_ignore_case_but_an_equal_one_comes_first() -> None:
    lower, upper = history("fog"), history("FOG")
    assert earlier(lower).takes_of(job("Fog")) == {1: lower}
    assert earlier(upper).takes_of(job("fog")) == {1: upper}
    assert earlier(history("Fog", 2)).of(job("FOG", 2)) is not None
    both = earlier(lower, upper)
    assert both.takes_of(job("fog")) == {1: lower} and both.takes_of(job("FOG")) == {1: upper}


def test_only_good_results_have_files() -> None:
    good = history("a", status="doubtful")
    assert list(earlier(good, history("b", status="failed"), history("c", status="skipped")).files) == [good.last]
