"""Inject one fault into a batch: check lost lines, messages, the exit code, and that rerunning the command recovers.

Every file of the second run is compared byte by byte with that of an undisturbed run.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests import children
from voxcli import faults
from voxcli.cli.main import run
from voxcli.files.names import LOCK_NAME

LINES = ("plain", "other", "voiced", "longer")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, repository: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    write_lines(tmp_path)
    yield
    faults.arm("")


def write_lines(folder: Path) -> None:
    tone = 0.3 * np.sin(np.arange(16_000 * 2) / 20).astype(np.float32)
    soundfile.write(folder / "v.wav", tone, 16_000)
    rows: list[dict[str, Any]] = [{"id": name, "text": f"A {name} line."} for name in LINES]
    rows[2]["ref"] = "v.wav"
    common = {"seed": 5, "steps": 2, "max_seconds": 0.8}
    (folder / "lines.jsonl").write_text("\n".join(json.dumps(row | common) for row in rows))


COMMAND = ["batch", "lines.jsonl", "-o", "out", "--allow-truncated"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path) -> dict[str, str]:
    """Return the digests of the files by line id."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_lines(folder)
    arguments = ["batch", str(folder / "lines.jsonl"), "-o", str(folder / "out"), "--allow-truncated"]
    assert run([*arguments, "--model", str(tiny_checkpoint)]) == 0
    return {name: digest(folder / "out" / f"{name}.wav") for name in LINES}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def told_lost(message: str, undisturbed: dict[str, str]) -> set[str]:
    """Return lines without a file. Checks that all files are complete and that no partial file has a final name."""
    assert "Traceback" not in message
    files = {path.stem for path in Path("out").glob("*.wav")} if Path("out").is_dir() else set()
    assert all(digest(Path("out", f"{name}.wav")) == undisturbed[name] for name in files)
    return set(LINES) - files


def check_resumed(undisturbed: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    faults.arm("")
    assert run(COMMAND) == 0
    capsys.readouterr()
    assert {name: digest(Path("out", f"{name}.wav")) for name in LINES} == undisturbed
    assert {path.name for path in Path("out").iterdir()} == {"results.jsonl", *(f"{name}.wav" for name in LINES)}
    results = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert sorted((result["id"], result["status"]) for result in results) == sorted((name, "ok") for name in LINES)


VOICED = {"voiced"}


@pytest.mark.parametrize(
    ("fault", "lost", "message"),
    [
        ("voice:error", VOICED, "line 3 (voiced): unexpected RuntimeError: a fault at voice"),
        ("voice:eacces", VOICED, "line 3 (voiced): unexpected PermissionError: [Errno 13] Permission denied"),
        ("encode:error", VOICED, "line 3 (voiced): unexpected RuntimeError: a fault at encode"),
        ("encode:memory", VOICED, "line 3 (voiced): unexpected OutOfMemoryError: no memory at encode"),
        ("encode:nan", VOICED, "line 3 (voiced): the model produced a patch that is not finite at step 0"),
        ("prefill:error", set(), ""),  # retried row by row, where the fault does not occur
        ("prefill:memory", set(), "out of memory with 4 requests at once; continuing with 2"),
        ("prefill:allocator", set(), "out of memory with 4 requests at once; continuing with 2"),
        ("prefill:enomem", set(), "out of memory with 4 requests at once; continuing with 2"),
        ("prefill:nan", set(LINES), "the model produced a patch that is not finite at step 0"),
        ("step:error:3", set(), ""),
        ("step:nan:3", set(LINES), "the model produced a patch that is not finite at step 2"),
        ("decode:error", set(), ""),
        ("decode:memory", set(), ""),
        ("decode:allocator", set(), ""),
        ("decode:nan", 1, ": the model produced audio that is not finite"),
        ("write:enospc:2", 1, ".wav: can't be written (No space left on device)"),
        ("write:eacces:3", 1, ".wav: can't be written (Permission denied)"),
        ("fsync:enospc", 1, ".wav: can't be written (No space left on device)"),
        ("rename:eacces:4", 1, ".wav: can't be written (Permission denied)"),
        ("rename:error", 1, ": unexpected RuntimeError: a fault at rename"),
    ],
)
def test_what_a_fault_costs(
    fault: str, lost: set[str] | int, message: str, undisturbed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    faults.arm(fault)
    code = run(COMMAND)
    err = capsys.readouterr().err
    missing = told_lost(err, undisturbed)
    assert len(missing) == lost if isinstance(lost, int) else missing == lost, err
    assert code == (1 if missing else 0)
    assert message in err
    assert err.count("line ") >= len(missing), "each lost line is reported"
    check_resumed(undisturbed, capsys)


def test_a_device_that_breaks_ends_the_run_and_fails_no_line(
    undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from voxcli.engine import transfer

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "responds", lambda device: False)
        faults.arm("step:error:3")
        assert run(COMMAND) == 3
    err = capsys.readouterr().err
    assert told_lost(err, undisturbed) == set(LINES)
    assert err.splitlines()[-1] == "voxcpm2: cpu no longer works (RuntimeError: a fault at step)"
    assert Path("out/results.jsonl").read_text() == ""
    check_resumed(undisturbed, capsys)


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("load:enoent", 3, "model.safetensors: damaged or not a weight file ([Errno 2] No such file or directory)"),
        ("load:memory", 3, "does not fit into memory (OutOfMemoryError: no memory at load); "),
        ("load:allocator", 3, "does not fit into memory (RuntimeError: [enforce fail at alloc_cpu.cpp"),
        ("load:enomem", 3, "does not fit into memory (OSError: [Errno 12] Cannot allocate memory); "),
        ("note:enospc:2", 1, "voxcpm2: can't write out/results.jsonl: No space left on device"),
    ],
)
def test_what_ends_a_run_is_one_line(
    fault: str, code: int, message: str, undisturbed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    faults.arm(fault)
    assert run(COMMAND) == code
    err = capsys.readouterr().err
    told_lost(err, undisturbed)
    assert err.splitlines()[-1].startswith("voxcpm2: ") and message in err.splitlines()[-1]
    check_resumed(undisturbed, capsys)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        ("step:sigint:3", 130, "voxcpm2: interrupted"),
        ("step:sigterm:3", 143, "voxcpm2: terminated"),
        ("rename:sigterm:2", 143, "voxcpm2: terminated"),
        ("fsync:sigkill:2", -signal.SIGKILL, ""),
    ],
)
def test_a_signal_loses_nothing_that_is_finished(
    fault: str,
    code: int,
    message: str,
    undisturbed: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(faults.VARIABLE, fault)
    ended = children.finished([*children.VOXCPM2, *COMMAND], stderr=subprocess.PIPE, timeout=300)
    monkeypatch.delenv(faults.VARIABLE)
    assert ended.returncode == code, ended.stderr
    notes = ("lines.jsonl: ", "lines without a voice: ")
    ends = [line for line in ended.stderr.splitlines() if not any(note in line for note in notes)]
    assert ends[-1:] == ([message] if message else [])
    told_lost(ended.stderr, undisturbed)
    leftovers = {path.name for path in Path("out").iterdir() if path.name.startswith(".")}
    if code > 0:
        assert not leftovers, "files in progress were finished or removed, and the lock is free"
    else:
        assert LOCK_NAME in leftovers and len(leftovers) == 2, (
            "the next run removes the temporary files of a killed one"
        )
        for path in Path("out").glob(".voxcpm2-*.part"):
            os.utime(path, (0, 0))  # old enough: a sweep keeps files that are newer than its run
    check_resumed(undisturbed, capsys)
