from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.engine.load import ModelOptions
from voxcli.files.user_dirs import data_folder
from voxcli.run.speeds import FEWEST_S, FILE_NAME, remember, speed_of

OTHERS = (ModelOptions(model="other"), ModelOptions(device="cuda"), ModelOptions(dtype="float16"))


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


@pytest.mark.parametrize(("audio_s", "wall_s"), [(FEWEST_S - 1, 5.0), (0.0, 0.0), (100.0, 0.0)])
def test_too_little_is_not_remembered(audio_s: float, wall_s: float) -> None:
    remember(ModelOptions(), audio_s, wall_s)
    assert speed_of(ModelOptions()) is None
    assert not (data_folder() / FILE_NAME).exists()


@pytest.mark.parametrize("content", ["", "[1]", '{" auto auto": "fast"}', '{" auto auto": -1}', "\0"])
def test_a_file_that_someone_broke_says_nothing_and_is_made_anew(content: str) -> None:
    data_folder().mkdir(parents=True)
    (data_folder() / FILE_NAME).write_text(content)
    assert speed_of(ModelOptions()) is None
    remember(ModelOptions(), 100.0, 20.0)
    assert speed_of(ModelOptions()) == 5.0


def test_where_nothing_can_be_kept_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    remember(ModelOptions(), 100.0, 20.0)
    assert speed_of(ModelOptions()) is None
