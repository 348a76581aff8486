"""Which recognizer is used, and that nothing is downloaded unless it was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.check import models
from voxcli.check.models import CheckModel, find_check_model, resolve_check_model
from voxcli.errors import MissingExtra, ModelNotFound


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "missing", lambda extra: [])


def _model(folder: Path) -> Path:
    for name in models.FILES:
        (folder / name).touch()
    return folder


def test_a_folder(tmp_path: Path) -> None:
    assert resolve_check_model(str(_model(tmp_path)), print) == CheckModel(tmp_path.resolve(), tmp_path.name)


def test_an_incomplete_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    with pytest.raises(ModelNotFound, match=r"is no model of faster-whisper: it has no model\.bin"):
        resolve_check_model(str(tmp_path), print)


def test_without_a_name_the_bundled_model_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_bundled", lambda: tmp_path)
    assert resolve_check_model(None, print) == CheckModel(tmp_path, "tiny.en")
    assert resolve_check_model("tiny.en", print) == CheckModel(tmp_path, "tiny.en")


def test_without_a_name_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_bundled", lambda: None)
    monkeypatch.setattr(models, "_fetched", lambda *_: pytest.fail("downloaded"))
    with pytest.raises(ModelNotFound, match="name a model of faster-whisper, which is downloaded, with --check-model"):
        resolve_check_model(None, print)


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "missing", lambda extra: ["faster-whisper"])
    with pytest.raises(MissingExtra, match="the check needs more packages: pip install faster-whisper "):
        resolve_check_model(None, print)


def test_an_unknown_name() -> None:
    pytest.importorskip("faster_whisper")
    assert find_check_model("small") is None, "it is on the hub"
    with pytest.raises(ModelNotFound, match=r"--check-model must be a folder, a hub id or one of tiny\.en, tiny"):
        resolve_check_model("tinny", print)


def test_a_named_model_that_can_not_be_downloaded() -> None:
    pytest.importorskip("faster_whisper")
    notes: list[str] = []
    with pytest.raises(ModelNotFound, match=r"the recognizer small can't be downloaded \(HF_HUB_OFFLINE is set\)"):
        resolve_check_model("small", notes.append)
    assert notes == ["downloading the recognizer small"]
