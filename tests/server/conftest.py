from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from voxcli.extras import missing

collect_ignore_glob = ["*"] if missing("serve") or find_spec("openai") is None else []

if TYPE_CHECKING:
    from tests.server.servers import Served


@pytest.fixture(scope="session")
def server(demo_voice: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the demo voice, for all tests that leave it as it was."""
    from tests.server.servers import served

    with served(folder=tmp_path_factory.mktemp("voices")) as running:
        yield running


@pytest.fixture
def speak(demo_voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Returns the bytes that `voxcpm2 synth` or `clone` writes for some arguments."""
    from voxcli.cli.main import run

    def spoken(command: str, *arguments: str, name: str = "spoken.wav") -> bytes:
        out = tmp_path / name
        assert run([command, *arguments, "-o", str(out)]) == 0
        return out.read_bytes()

    assert os.environ["OMP_NUM_THREADS"] == "1", "the bytes may depend on the number of threads"
    return spoken
