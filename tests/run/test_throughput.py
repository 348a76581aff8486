from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from voxcli.engine.load import ModelOptions
from voxcli.files.user_dirs import data_folder
from voxcli.jobs.result import Result, now
from voxcli.run.throughput import FILE_NAME, MIN_S, pace, remember, speed_of

OTHERS = (ModelOptions(model="other"), ModelOptions(device="cuda"), ModelOptions(dtype="float16"))
BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def landed(at_s: float, duration_s: float, wall_s: float | None = 2.0) -> Result:
    finished = (BEGAN + timedelta(seconds=at_s)).isoformat(timespec="milliseconds")
    return Result("a", "a.wav", "a", "ok", duration_s, wall_s, finished=finished)


def test_the_pace_is_audio_made_by_the_time_of_its_runs() -> None:
    first = [landed(2, 9), landed(4, 3), landed(8, 5)]  # started at 0, 2 and 6 s: one run
    assert pace(first) == pytest.approx((9 + 3 + 5) / 8)
    again = [landed(86_400, 1), landed(86_401, 4)]  # a day later: the gap does not count
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


def test_a_speed_is_that_of_the_last_run_with_the_same_options(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ModelOptions()
    assert speed_of(options) is None
    remember(options, 60.0, 20.0)
    remember(options, 100.0, 20.0)
    for other in OTHERS:
        assert speed_of(other) is None
        remember(other, 100.0, 100.0)
    assert speed_of(options) == 5.0
    monkeypatch.setenv("VOXCPM2_MODEL", "other")
    assert speed_of(options) == speed_of(OTHERS[0]) == 1.0


@pytest.mark.parametrize(("audio_s", "wall_s"), [(MIN_S - 1, 5.0), (0.0, 0.0), (100.0, 0.0)])
def test_too_little_is_not_remembered(audio_s: float, wall_s: float) -> None:
    remember(ModelOptions(), audio_s, wall_s)
    assert speed_of(ModelOptions()) is None
    assert not (data_folder() / FILE_NAME).exists()


@pytest.mark.parametrize("content", ["", "[1]", '{" auto auto": "fast"}', '{" auto auto": -1}', "\0"])
def test_a_damaged_file_is_ignored_and_replaced(content: str) -> None:
    data_folder().mkdir(parents=True)
    (data_folder() / FILE_NAME).write_text(content)
    assert speed_of(ModelOptions()) is None
    remember(ModelOptions(), 100.0, 20.0)
    assert speed_of(ModelOptions()) == 5.0


def test_a_speed_that_can_not_be_saved_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    remember(ModelOptions(), 100.0, 20.0)
    assert speed_of(ModelOptions()) is None
