from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from voxcli.errors import CheckpointError, ModelNotFound
from voxcli.model import hub
from voxcli.model.hub import DEMO_NOTICE, FULL_MODEL, download, resolve_model

FILES = ("config.json", "tokenizer.json", "model.safetensors", "audiovae.safetensors")


@pytest.fixture
def checkpoint(tiny_checkpoint: Path) -> Callable[[Path], Path]:
    """Copies a checkpoint to a folder."""
    return lambda folder: Path(shutil.copytree(tiny_checkpoint, folder))


@pytest.fixture
def demo(tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint in place of the demo voice."""
    folder = Path(shutil.copytree(tiny_checkpoint, tmp_path / "demo"))
    monkeypatch.setattr(hub, "demo_folder", lambda: folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache; the folder in which the full model would be."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--openbmb--VoxCPM2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    return repository / "snapshots" / ("0" * 40)


def test_the_option_has_priority_over_the_variable(
    checkpoint: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", "/nowhere")
    messages: list[str] = []
    choice = resolve_model(str(checkpoint(tmp_path / "mine")), messages.append)
    assert (choice.folder, messages) == (tmp_path / "mine", [])


def test_the_variable_has_priority_over_the_cache(
    checkpoint: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    checkpoint(cache)
    monkeypatch.setenv("VOXCPM2_MODEL", str(checkpoint(tmp_path / "mine")))
    assert resolve_model(None, pytest.fail).folder == tmp_path / "mine"


def test_the_full_model_in_the_cache_has_priority_over_the_demo_voice(
    checkpoint: Callable[[Path], Path], cache: Path
) -> None:
    checkpoint(cache)
    choice = resolve_model(None, pytest.fail)
    assert choice.folder.resolve() == cache.resolve()
    assert choice.name == FULL_MODEL


@pytest.mark.parametrize("missing", [None, *FILES])
def test_the_demo_voice_is_used_with_a_notice_once_a_day(
    checkpoint: Callable[[Path], Path], cache: Path, demo: Path, missing: str | None
) -> None:
    if missing is not None:  # a download that was interrupted
        (checkpoint(cache) / missing).unlink()
    messages: list[str] = []
    assert resolve_model(None, messages.append).folder == demo
    assert messages == [DEMO_NOTICE]
    assert resolve_model(None, messages.append).folder == demo
    assert messages == [DEMO_NOTICE], "once a day"
    assert "voxcpm2 download" in DEMO_NOTICE


def test_without_a_demo_voice_the_error_names_the_download_command(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "demo_folder", lambda: None)
    with pytest.raises(ModelNotFound, match="voxcpm2 download"):
        resolve_model(None, pytest.fail)


def test_a_hub_id_in_the_cache_is_used_without_a_message(checkpoint: Callable[[Path], Path], cache: Path) -> None:
    checkpoint(cache)
    assert resolve_model(FULL_MODEL, pytest.fail).folder.resolve() == cache.resolve()


def test_a_hub_id_outside_the_cache_is_an_error_offline(cache: Path) -> None:
    with pytest.raises(ModelNotFound, match="HF_HUB_OFFLINE"):
        resolve_model(FULL_MODEL, pytest.fail)


@pytest.mark.parametrize("name", ["./nowhere", "no-such-folder", "/a/b/c"])
def test_a_path_that_does_not_exist_is_an_error(name: str) -> None:
    with pytest.raises(ModelNotFound, match="does not exist"):
        resolve_model(name, pytest.fail)


def test_the_home_folder_of_an_unknown_user_is_an_error() -> None:
    with pytest.raises(ModelNotFound, match="--model: ~nosuchuser/x: the home folder does not exist"):
        resolve_model("~nosuchuser/x", pytest.fail)


def test_without_a_home_folder_the_demo_voice_is_used(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    assert resolve_model(None, lambda message: None).folder == demo
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(ModelNotFound, match=r"Could not determine home directory.*HF_HOME"):
        download(FULL_MODEL, lambda message: None)


def test_a_file_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    with pytest.raises(ModelNotFound, match="is a file; a model is a folder"):
        resolve_model(str(tmp_path / "model.bin"), pytest.fail)


@pytest.mark.parametrize("missing", FILES[1:])
def test_a_missing_file_of_a_named_folder_is_named(
    checkpoint: Callable[[Path], Path], tmp_path: Path, missing: str
) -> None:
    (checkpoint(tmp_path / "mine") / missing).unlink()
    with pytest.raises(CheckpointError, match=f"{missing}.*missing"):
        resolve_model(str(tmp_path / "mine"), pytest.fail)


def test_a_download_requests_data_files_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    requested: dict[str, object] = {}
    messages: list[str] = []
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        "huggingface_hub.snapshot_download", lambda hub_id, **options: requested.update(options) or str(tmp_path)
    )
    assert download(FULL_MODEL, messages.append) == tmp_path
    assert len(messages) == 1
    assert requested["allow_patterns"] == hub.WANTED_FILES
    assert not any(name.endswith(".py") or "*" in name for name in hub.WANTED_FILES)


def test_an_unreachable_hub_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(hub_id: str, **options: object) -> str:
        raise ConnectionError("no route\nto the host")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(ModelNotFound, match=f"^can't fetch {FULL_MODEL}: no route$"):
        download(FULL_MODEL, lambda message: None)


def test_a_name_that_is_not_a_hub_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(ModelNotFound, match="neither a folder nor a model id"):
        download("a/b/c", lambda message: None)
