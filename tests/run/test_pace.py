from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from voxcli.run.pace import now, pace
from voxcli.run.results import Result

BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def landed(at_s: float, duration_s: float) -> Result:
    finished = (BEGAN + timedelta(seconds=at_s)).isoformat(timespec="milliseconds")
    return Result("a", "a.wav", "a", "ok", duration_s, finished=finished)


def test_the_pace_is_audio_made_by_the_time_between_files_of_one_run() -> None:
    first = [landed(0, 99), landed(2, 3), landed(4, 5)]
    assert pace(first) == pytest.approx((3 + 5) / 4)
    again = [landed(86_400, 99), landed(86_401, 4)]  # a day later: the night was no work
    assert pace([*again, *first]) == pytest.approx((3 + 5 + 4) / 5)


def test_without_two_files_there_is_no_pace() -> None:
    failed = Result("a", "a.wav", "a", "failed", error="x")
    assert pace([]) is pace([landed(0, 3), failed]) is None


def test_now_is_a_time_that_is_read_back() -> None:
    read = datetime.fromisoformat(now())
    assert abs(datetime.now(timezone.utc) - read) < timedelta(seconds=5)
