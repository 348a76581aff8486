from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import children
from voxcli.errors import OutputError
from voxcli.files.names import LOCK_NAME
from voxcli.run import lock as lock_module
from voxcli.run.lock import FolderLock

HOLDER = """
import sys, time
from pathlib import Path
from voxcli.run.lock import FolderLock
with FolderLock(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(60)
"""


def no_remark(remark: str) -> None:
    raise AssertionError(remark)


def holder(folder: Path) -> subprocess.Popen[str]:
    process = children.start([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_names_its_holder_and_is_removed_at_the_end(tmp_path: Path) -> None:
    with FolderLock(tmp_path, no_remark):
        content = (tmp_path / LOCK_NAME).read_text()
        assert content == f"process {os.getpid()} on {socket.gethostname()}\n"
    assert list(tmp_path.iterdir()) == []
    with FolderLock(tmp_path, no_remark):
        pass


def test_two_runs_in_one_folder_are_refused_and_a_killed_one_is_forgotten(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(OutputError) as caught, FolderLock(tmp_path, no_remark):
            pass
        assert str(caught.value) == (
            f"another run (process {process.pid} on {socket.gethostname()}) is writing into {tmp_path}; "
            "wait for it to end, or choose another folder"
        )
        process.kill()
    assert (tmp_path / LOCK_NAME).exists()
    with FolderLock(tmp_path, no_remark):
        assert f"process {os.getpid()} " in (tmp_path / LOCK_NAME).read_text()
    assert not (tmp_path / LOCK_NAME).exists()


def test_a_lock_file_of_a_dead_run_on_another_host_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text("process 1 on elsewhere\n")
    with FolderLock(tmp_path, no_remark):
        assert (tmp_path / LOCK_NAME).read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"


def test_the_lock_goes_also_when_the_run_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), FolderLock(tmp_path, no_remark):
        raise KeyboardInterrupt
    assert not (tmp_path / LOCK_NAME).exists()


def test_a_file_whose_name_was_taken_away_while_it_was_opened_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = lock_module._take
    names = iter([(tmp_path / LOCK_NAME).unlink, lambda: None])

    def late(file: object) -> None:
        next(names)()  # the previous holder exits between open and lock
        take(file)  # type: ignore[arg-type]

    monkeypatch.setattr(lock_module, "_take", late)
    with FolderLock(tmp_path, no_remark):
        assert (tmp_path / LOCK_NAME).exists()
    assert next(names, None) is None


def test_a_file_system_without_locks_is_reported_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock_module, "_take", refuse)
    remarks: list[str] = []
    with FolderLock(tmp_path, remarks.append):
        pass
    assert remarks == [f"{tmp_path} is on a file system without locks; make sure that no other run writes there"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that can't be written")
def test_a_folder_that_can_not_be_locked_is_an_output_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match=r"can't lock .*: Permission denied"), FolderLock(tmp_path, no_remark):
        pass


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_a_stopped_run_still_holds_its_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(OutputError, match="another run"), FolderLock(tmp_path, no_remark):
            pass
        process.kill()


@pytest.mark.skipif(os.name == "nt", reason="a file that is open can't be replaced there")
def test_a_file_that_took_the_place_of_the_lock_stays(tmp_path: Path) -> None:
    with FolderLock(tmp_path, no_remark):
        (tmp_path / "mine").write_text(KEPT)
        (tmp_path / "mine").replace(tmp_path / LOCK_NAME)
    assert (tmp_path / LOCK_NAME).read_text() == KEPT


KEPT = "precious\n"
LINKS = pytest.mark.skipif(os.name == "nt", reason="links need rights of their own there")


@LINKS
def test_a_lock_that_is_a_link_is_refused_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "out"
    outside.write_text(KEPT)
    folder.mkdir()
    (folder / LOCK_NAME).symlink_to(outside)
    with pytest.raises(OutputError) as caught, FolderLock(folder, no_remark):
        pass
    message = f"can't lock {folder}: {folder / LOCK_NAME} is a link; remove it, or choose another folder"
    assert str(caught.value) == message
    assert outside.read_text() == KEPT
    assert (folder / LOCK_NAME).is_symlink()


@LINKS
def test_a_lock_makes_no_file_at_the_end_of_a_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "out"
    folder.mkdir()
    (folder / LOCK_NAME).symlink_to(outside)
    with pytest.raises(OutputError, match="is a link; remove it"), FolderLock(folder, no_remark):
        pass
    assert not outside.exists()


@LINKS
@pytest.mark.parametrize("content", ["", f"process 1 on {socket.gethostname()}\n"])
def test_a_lock_that_is_a_hard_link_is_refused_and_its_twin_stays(tmp_path: Path, content: str) -> None:
    """Even if its content looks like that of a lock: it is a file outside the folder."""
    outside, folder = tmp_path / "outside.txt", tmp_path / "out"
    outside.write_text(content)
    folder.mkdir()
    os.link(outside, folder / LOCK_NAME)
    with pytest.raises(OutputError, match="is a hard link of another file; remove it"), FolderLock(folder, no_remark):
        pass
    assert outside.read_text() == content
    assert (folder / LOCK_NAME).exists()


@pytest.mark.parametrize("content", [KEPT, f"process 1 on here\n{KEPT}", "process one on here\n"])
def test_a_file_of_that_name_that_is_no_lock_stays(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK_NAME).write_text(content)
    with (
        pytest.raises(OutputError, match=r"\.voxcpm2\.lock is a file of another program"),
        FolderLock(tmp_path, no_remark),
    ):
        pass
    assert (tmp_path / LOCK_NAME).read_text() == content


@pytest.mark.parametrize("content", [b"", b"\0" * 40])
def test_a_lock_that_lost_its_content_with_the_power_is_taken_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK_NAME).write_bytes(content)
    with FolderLock(tmp_path, no_remark):
        assert (tmp_path / LOCK_NAME).read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK_NAME)
    with pytest.raises(OutputError, match=r"lock is not a regular file"), FolderLock(tmp_path, no_remark):
        pass


@LINKS
def test_a_link_that_comes_between_looking_and_opening_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "out"
    outside.write_text(KEPT)
    folder.mkdir()
    looked = os.lstat

    def slow(path: Path) -> os.stat_result:
        try:
            return looked(path)
        finally:
            (folder / LOCK_NAME).symlink_to(outside)

    monkeypatch.setattr(os, "lstat", slow)
    with pytest.raises(OutputError, match="can't lock"), FolderLock(folder, no_remark):
        pass
    assert outside.read_text() == KEPT
