from __future__ import annotations

import os
from pathlib import Path

import pytest

from voxcli.errors import InputError
from voxcli.jobs.protected import Recordings


def test_a_recording_is_known_by_every_name_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ref = tmp_path / "voice.wav"
    ref.touch()
    os.link(ref, tmp_path / "hard.wav")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "soft.wav").symlink_to(ref)
    (tmp_path / "other.wav").touch()
    recordings = Recordings([ref])
    for name in ("voice.wav", "deep/../voice.wav", "hard.wav", "deep/soft.wav", str(ref)):
        assert recordings.at(Path(name)) == ref
        with pytest.raises(InputError, match="is a recording that is spoken from: write to another file"):
            recordings.refuse(Path(name))
    for name in ("other.wav", "new.wav", "deep/voice.wav", "nowhere/voice.wav", "a\0b.wav"):
        assert recordings.at(Path(name)) is None
        recordings.refuse(Path(name))


def test_a_recording_that_is_not_there_yet_is_known_by_its_place(tmp_path: Path) -> None:
    recordings = Recordings([tmp_path / "made-later.wav"])
    assert recordings.within(tmp_path) == {"made-later.wav": tmp_path / "made-later.wav"}
    assert recordings.within(tmp_path / "none") == {}
    assert Recordings([]).at(tmp_path / "made-later.wav") is None
