"""Fixtures and options of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
import torch

from tests.checkpoints import brief_checkpoint, tiny_checkpoint
from voxcli import demo_voice as packaged
from voxcli import kernels  # must be imported before the first product; see its docstring

__all__ = ["brief_checkpoint", "kernels", "tiny_checkpoint"]

# Tiny models do not get faster with more threads, and on a busy machine threads wait for each other.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for commands started by tests


with suppress(ImportError):  # GPU tests run without hypothesis, too
    from hypothesis import settings

    settings.register_profile("same examples in each run", derandomize=True)
    settings.load_profile("same examples in each run")

PROCESSES = 2
DEFAULT = "not speech and not book and not long and not slow"  # as in pyproject.toml


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the default suite in two processes, the first to end taking tests of the other. All else runs in one."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # one of the two processes, which has the same arguments
    option = config.option
    default_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS and option.markexpr == DEFAULT
    if default_suite and option.capture != "no" and not option.usepdb and getattr(option, "numprocesses", 0) is None:
        option.numprocesses, option.dist = PROCESSES, "worksteal"


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the user's cache folder. Tests share one, so that trials on this machine run only once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for the files of a user, each for one test. They do not exist: to make thousands takes a minute."""
    base = tmp_path_factory.mktemp("own")
    return (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def no_user_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, own_folders: Iterator[Path]
) -> None:
    """Hide the user's models, presets and voices, and the network."""
    empty = tmp_path_factory.getbasetemp() / "empty-cache"
    own = next(own_folders)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(own / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(empty))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(empty))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.delenv("VOXCPM2_MODEL", raising=False)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def demo_voice() -> Path:
    folder = packaged.FOLDER
    if not (folder / "config.json").is_file():
        pytest.skip("the demo voice's weights are not in this checkout")
    return folder
