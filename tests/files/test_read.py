from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from voxcli.cli.text_options import TextOptions
from voxcli.errors import CheckpointError, InputError
from voxcli.files.read import check_regular, content_digest, open_regular, read_regular
from voxcli.inputs.manifest import read_manifest
from voxcli.model.config import read_config
from voxcli.model.hub import model_identity
from voxcli.voices.store import read_info, read_latents

READERS: tuple[Callable[[Path], Any], ...] = (check_regular, open_regular, lambda path: read_regular(path, 10))


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Opening the pipe would block forever: there is no writer."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("read", READERS)
def test_only_regular_files_are_opened(read: Callable[[Path], Any], tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "dangling").symlink_to("nowhere")
    for path in (pipe, tmp_path / "endless"):
        with pytest.raises(OSError, match="not a regular file"):
            read(path)
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "dangling")
    with pytest.raises(OSError, match="null"):
        read(Path("a\0b"))


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert read_regular(path, 10) == b"0123456789"
    with pytest.raises(OSError, match="it is larger than 9 bytes"):
        read_regular(path, 9)


def test_a_file_that_tells_no_size_has_an_end_too() -> None:
    with pytest.raises(OSError, match="it is larger than 2 bytes"):
        read_regular(Path("/proc/self/status"), 2)


@pytest.mark.parametrize("read", [read_info, read_latents])
def test_a_voice_file_that_is_a_pipe_is_refused_in_one_line(read: Callable[[Path], Any], pipe: Path) -> None:
    with pytest.raises(InputError, match=r"pipe.*not a regular file") as caught:
        read(pipe)
    assert "\n" not in str(caught.value)


def test_a_manifest_and_a_text_may_come_through_a_pipe(pipe: Path) -> None:
    """For example `batch <(make-lines)`."""
    for read in (lambda: TextOptions(None, pipe).read(), lambda: read_manifest(str(pipe), pipe.parent).jobs[0].text):
        writer = Thread(target=pipe.write_text, args=("Hello there.",))
        writer.start()
        assert read() == "Hello there."
        writer.join()


@pytest.mark.parametrize("name", ["-", None])
def test_stdin_has_an_end(name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/zero", encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        monkeypatch.setattr("voxcli.inputs.manifest.MAX_BYTES", 1 << 21)
        monkeypatch.setattr("voxcli.cli.text_options.MAX_BYTES", 1 << 21)
        with pytest.raises(InputError, match=r"can't read .*: it is larger than 2,097,152 bytes"):
            read_manifest(name, tmp_path) if name else TextOptions("-", None).read()


def test_a_pipe_in_a_checkpoint_is_refused_or_passed_over(tmp_path: Path, pipe: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(CheckpointError, match=r"config\.json: not readable as JSON \(.*not a regular file"):
        read_config(tmp_path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text("{}")
    before = model_identity([tmp_path])
    os.mkfifo(tmp_path / "extra.bin")
    (tmp_path / "extra.json").mkdir()
    (tmp_path / "gone.safetensors").symlink_to("nowhere")
    assert model_identity([tmp_path]) == before
    with pytest.raises(OSError, match="not a regular file"):
        content_digest(pipe)
