from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.jobs.job import Job
from voxcli.jobs.rerun import CHANGED, Rerun, ids_named
from voxcli.jobs.verdicts import LineVerdict

JOBS = [Job(name, "Hello.", Path("a.wav")) for name in ("fog", "a,b", "Welcome", "00003")]


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (["fog"], {"fog"}),
        (["FOG, welcome"], {"fog", "welcome"}),
        (["fog", "3"], {"fog", "00003"}),
        (["a,b"], {"a,b"}),
        (["fog,fog,"], {"fog"}),
    ],
)
def test_ids_are_separated_by_commas(values: list[str], ids: set[str]) -> None:
    assert ids_named("--only", values, JOBS) == ids


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("welcom", "--only: no line has the id 'welcom'; did you mean 'Welcome'?"),
        ("fog,x,y", "--only: no line has the id 'x', 'y'"),
        ("u,v,w,x,y", "--only: no line has the id 'u', 'v', 'w' and 2 others"),
        ("4", "--only: no line has the id '4'"),
        (" , ", "--only names no line: give ids, separated by commas"),
    ],
)
def test_a_line_that_does_not_exist_is_refused(value: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ids_named("--only", [value], JOBS)
    assert str(caught.value) == message


def test_a_selection_ignores_case() -> None:
    rerun = Rerun("failed", frozenset({"fog", "welcome"}), frozenset({"fog"}), {"fog": LineVerdict("approved")})
    assert [rerun.selects(job) for job in JOBS] == [False, False, True, False]
    assert rerun.options == "--retry-failed and --only and --except"
    assert rerun.verdict(Job("FOG", "", Path())) == LineVerdict("approved")
    assert all(map(CHANGED.selects, JOBS)) and CHANGED.verdict(JOBS[0]) is None and CHANGED.options == ""
