"""Shares of virtual machines, SMB and WSL refuse to sync a folder: what is written there is whole all the same."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.errors import OutputError
from voxcli.files.sync import sync_notice
from voxcli.files.write import write_atomic

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a folder can't be opened there")
LINES = "first\nsecond\n"


def refuse(monkeypatch: pytest.MonkeyPatch, number: int, *, folders: bool, files: bool) -> None:
    """Let fsync fail with an error, of folders or of files."""
    fsync = os.fsync

    def refused(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        if folders if is_folder else files:
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refused)


@pytest.mark.parametrize("name", ["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EBADF", "EACCES", "EPERM"])
def test_a_folder_that_can_not_be_synced_takes_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, getattr(errno, name), folders=True, files=False)
    write_atomic(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.parametrize("name", ["EINVAL", "ENOTSUP", "ENOSYS"])
def test_so_does_one_whose_files_can_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, getattr(errno, name), folders=True, files=True)
    write_atomic(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.parametrize(("folders", "files"), [(True, False), (False, True)])
@pytest.mark.parametrize("name", ["EIO", "ENOSPC", "EDQUOT"])
def test_a_disk_that_fails_stays_an_error(
    name: str, folders: bool, files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, getattr(errno, name), folders=folders, files=files)
    with pytest.raises(OutputError, match="can't be written"):
        write_atomic(tmp_path / "file", b"whole")


def test_a_folder_that_may_be_written_and_not_read_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def denied(path: object, flags: int, *more: int, **named: int) -> int:
        if path == tmp_path and not flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, flags, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", denied)
    write_atomic(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_nothing_is_told_of_a_folder_that_syncs(tmp_path: Path) -> None:
    assert sync_notice(tmp_path) is None


def test_a_batch_there_is_whole_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brief_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text(LINES)
    refuse(monkeypatch, errno.EINVAL, folders=True, files=False)
    command = ["batch", "book.txt", "-o", "out", "--model", str(brief_checkpoint), "--allow-truncated"]
    assert run(command) == 0
    told = capsys.readouterr().err
    assert "2 of 2 lines done, 0 failed" in told
    assert told.count("out is on a file system that can't sync") == 1
    assert sorted(path.name for path in Path("out").iterdir()) == ["00001.wav", "00002.wav", "results.jsonl"]
