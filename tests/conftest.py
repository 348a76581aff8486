"""Fixtures and options of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from tests.checkpoints import brief_checkpoint, tiny_checkpoint
from voxcli import demo_voice as packaged
from voxcli import kernels  # before the first product: see there

__all__ = ["brief_checkpoint", "kernels", "tiny_checkpoint"]

# Tiny models gain nothing from more threads, and on a busy machine the threads wait for each other.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start


with suppress(ImportError):  # GPU tests run without hypothesis, too
    from hypothesis import settings

    settings.register_profile("same examples in each run", derandomize=True)
    settings.load_profile("same examples in each run")

PROCESSES = 2
DEFAULT = "not speech and not book and not long"  # as in pyproject.toml


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """The whole default suite runs in two processes, each with whole files; what is named or printed runs in one."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # one of the two, which begins as the whole does
    option = config.option
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and option.markexpr == DEFAULT
    if whole and option.capture != "no" and not option.usepdb and getattr(option, "numprocesses", 0) is None:
        option.numprocesses, option.dist = PROCESSES, "loadfile"


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share a cache folder between tests, so that facts about this machine are found out only once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def no_model_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the user's models, presets and voices, and the network."""
    empty = tmp_path_factory.getbasetemp() / "empty-cache"
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path_factory.mktemp("own")))
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
