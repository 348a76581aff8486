"""A loaded model, and the command that it must agree with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import voxcli
from voxcli import TTS
from voxcli.cli.main import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def remarks() -> list[str]:
    return []


@pytest.fixture
def tts(tiny_checkpoint: Path, remarks: list[str]) -> Iterator[TTS]:
    with voxcli.load(tiny_checkpoint, notify=remarks.append) as loaded:
        yield loaded


@pytest.fixture
def command(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Runs `synth` and returns the bytes of its file."""
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))

    def synth(text: str, file: str, *options: str) -> bytes:
        assert run(["synth", text, "-o", file, "--allow-truncated", *options]) == 0
        return Path(file).read_bytes()

    return synth
