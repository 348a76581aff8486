from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.files import user_dirs as folders


def test_xdg_goes_first_unless_it_is_relative(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")
    monkeypatch.setattr(folders.sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert folders.config_folder() == tmp_path / "c" / "voxcpm2"
    assert folders.data_folder() == tmp_path / ".local" / "share" / "voxcpm2"


def test_other_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(folders.sys, "platform", "darwin")
    assert folders.data_folder() == tmp_path / "Library" / "Application Support" / "voxcpm2"
    monkeypatch.setattr(folders.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    assert folders.data_folder() == tmp_path / "local" / "voxcpm2"
    assert folders.config_folder() == tmp_path / "roaming" / "voxcpm2"
