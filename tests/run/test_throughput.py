from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from voxcli.jobs.result import Result, now
from voxcli.run.throughput import pace

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def landed(at_s: float, duration_s: float, wall_s: float | None = 2.0) -> Result:
    finished = (BEGAN + timedelta(seconds=at_s)).isoformat(timespec="milliseconds")
    return Result("a", "a.wav", "a", "ok", duration_s, wall_s, finished=finished)


def test_the_pace_is_audio_made_by_the_time_of_its_runs() -> None:
    first = [landed(2, 9), landed(4, 3), landed(8, 5)]  # begun at 0, 2 and 6: one run
    assert pace(first) == pytest.approx((9 + 3 + 5) / 8)
    again = [landed(86_400, 1), landed(86_401, 4)]  # a day later: the night was no work
    assert pace([*again, *first]) == pytest.approx((9 + 3 + 5 + 1 + 4) / (8 + 3))


def test_files_that_land_at_once_took_the_time_of_their_making() -> None:
    assert pace([landed(10, 4, 10), landed(10.003, 5, 9), landed(10.005, 6, 10)]) == pytest.approx(
        15 / 10.005, rel=1e-3
    )


def test_without_two_files_there_is_no_pace() -> None:
    failed = Result("a", "a.wav", "a", "failed", error="x")
    assert pace([]) is pace([landed(0, 3), failed]) is pace([landed(0, 3, None), landed(1, 3, None)]) is None


def test_now_is_a_time_that_is_read_back() -> None:
    read = datetime.fromisoformat(now())
    assert abs(datetime.now(timezone.utc) - read) < timedelta(seconds=5)
