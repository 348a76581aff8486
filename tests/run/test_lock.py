from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_tells_its_holder_and_leaves_nothing(tmp_path: Path) -> None:
    with FolderLock(tmp_path, no_remark):
        told = (tmp_path / LOCK_NAME).read_text()
        assert told == f"process {os.getpid()} on {socket.gethostname()}\n"
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
        next(names)()  # the holder before ends between the opening and the locking
        take(file)  # type: ignore[arg-type]

    monkeypatch.setattr(lock_module, "_take", late)
    with FolderLock(tmp_path, no_remark):
        assert (tmp_path / LOCK_NAME).exists()
    assert next(names, None) is None


def test_a_file_system_without_locks_is_told_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock_module, "_take", refuse)
    remarks: list[str] = []
    with FolderLock(tmp_path, remarks.append):
        pass
    assert remarks == [f"{tmp_path} is on a file system without locks; let no other run write there"]


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
