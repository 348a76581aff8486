from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from voxcli.files.once import DAY_S, once_a_day
from voxcli.files.user_dirs import data_folder


def test_a_notice_is_shown_once_a_day() -> None:
    assert [once_a_day("a"), once_a_day("a"), once_a_day("b")] == [True, False, True]
    shown = data_folder() / "notices" / "a"
    os.utime(shown, (0, time.time() - DAY_S - 1))
    assert [once_a_day("a"), once_a_day("a")] == [True, False]


def test_a_time_in_the_future_is_no_time() -> None:
    once_a_day("a")
    os.utime(data_folder() / "notices" / "a", (0, time.time() + 1000))
    assert [once_a_day("a"), once_a_day("a")] == [True, False]


@pytest.mark.parametrize("home", ["file", "file/below", "no\x00name", "x" * 300])
def test_where_nothing_can_be_kept_it_is_shown_each_time(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("voxcli.files.once.data_folder", lambda: tmp_path / home)
    assert [once_a_day("a"), once_a_day("a")] == [True, True]
