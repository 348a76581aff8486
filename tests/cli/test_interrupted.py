"""Ctrl-C and SIGTERM at exact moments, from the first import to the last file: one line, exit code 130 or 143."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import soundfile

from tests import children

fcntl = pytest.importorskip("fcntl", reason="sends POSIX signals")
termios = pytest.importorskip("termios", reason="sends POSIX signals")

LINES = 12
BATCH = ("batch", "lines.jsonl", "-o", "out", "--allow-truncated")
ENDS = {signal.SIGINT: (130, "voxcpm2: interrupted"), signal.SIGTERM: (143, "voxcpm2: terminated")}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path, repository: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.setenv("PYTHONPATH", str(repository))
    rows = [{"text": f"This is line {n}.", "seed": n, "steps": 2, "max_seconds": 0.8} for n in range(LINES)]
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, rows)))


def interrupted(moment: str, number: int, *arguments: str, times: int = 1) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.cli.interrupting", moment, str(int(number)), str(times), *arguments]
    return children.finished(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)


def check(ended: subprocess.CompletedProcess[str], number: signal.Signals) -> None:
    code, line = ENDS[number]
    assert ended.returncode == code, ended.stderr
    assert ended.stderr.splitlines()[-1] == line
    assert ended.stderr.count(line) == 1 and "Traceback" not in ended.stderr


def check_folder() -> int:
    """Check that no partial or temporary file is left, and return the number of files."""
    out = Path("out")
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    sounds = {name for name in names if name.endswith(".wav")}
    assert names - sounds <= {"results.jsonl"}
    for name in sounds:
        assert soundfile.info(out / name).frames > 0
    return len(sounds)


@pytest.mark.parametrize("number", ENDS)
def test_an_interrupted_run_reports_how_far_it_came_and_goes_on(number: signal.Signals) -> None:
    ended = interrupted("write", number, *BATCH)
    check(ended, number)
    done = check_folder()
    assert 1 <= done < LINES
    assert ended.stderr.splitlines()[-2] == f"voxcpm2: {done} of {LINES} lines done; the same command goes on"
    again = children.finished([*children.VOXCPM2, *BATCH], stderr=subprocess.PIPE, timeout=300)
    kept = "1 line" if done == 1 else f"{done} lines"
    assert f"voxcpm2: {kept} done before and unchanged, {LINES - done} to speak" in again.stderr
    forced = interrupted("write", number, *BATCH, "--force")
    assert f" of {LINES} lines done; --force speaks them again\n" in forced.stderr


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("voxcli.cli.main", signal.SIGINT),
        ("typer", signal.SIGTERM),
        ("pydantic", signal.SIGINT),
        ("voxcli.run.batch", signal.SIGINT),
        # from here on the folder is locked
        ("torch", signal.SIGINT),
        ("torch._opaque_base", signal.SIGINT),  # imported by C++ code that aborts on an exception
        ("torch._opaque_base", signal.SIGTERM),
        ("torch.nn.functional", signal.SIGINT),
        ("voxcli.run.session", signal.SIGTERM),
        ("load", signal.SIGINT),
        ("load", signal.SIGTERM),
        ("step", signal.SIGINT),
        ("write", signal.SIGINT),
        ("note", signal.SIGTERM),
    ],
)
def test_at_every_stage_of_a_batch(moment: str, number: signal.Signals) -> None:
    check(interrupted(moment, number, *BATCH), number)
    assert check_folder() == 0 or moment in ("write", "note"), "lines spoken by then are finished"


@pytest.mark.parametrize(
    ("moment", "number", "options", "files"),
    [
        ("voxcli.jobs.plan:prepare:2", signal.SIGINT, (), 0),
        ("voxcli.run.lock:_take:1", signal.SIGINT, (), 0),
        ("voxcli.run.results:_read:1", signal.SIGTERM, (), 0),
        ("voxcli.artifacts.joined:_read:2", signal.SIGINT, ("--join", "whole.wav", "--no-same-voice"), LINES),
        ("voxcli.artifacts.joined:_read:2", signal.SIGTERM, ("--join", "whole.wav", "--no-same-voice"), LINES),
        ("voxcli.artifacts.artifacts:write_subtitles:2", signal.SIGINT, ("--subtitles", "srt"), LINES),
        ("voxcli.artifacts.artifacts:write_page:1", signal.SIGINT, ("--report", "page.html"), LINES),
    ],
)
def test_before_and_after_the_speaking(
    moment: str, number: signal.Signals, options: tuple[str, ...], files: int
) -> None:
    """While the folder is locked, earlier results are read, texts are planned, and artifacts are made."""
    check(interrupted(moment, number, *BATCH, *options), number)
    for path in Path("out").glob("*.srt"):
        assert path.read_text(encoding="utf-8").startswith("1\n")
        path.unlink()
    assert check_folder() == files
    assert {path.name for path in Path().iterdir()} <= {"lines.jsonl", "out"}


def test_before_the_handler_is_there(repository: Path) -> None:
    check(interrupted("voxcli.interrupts", signal.SIGINT, "presets"), signal.SIGINT)


@pytest.mark.parametrize("moment", ["torch.nn.functional", "step", "fsync"])
def test_several_at_once_are_one(moment: str) -> None:
    check(interrupted(moment, signal.SIGINT, *BATCH, times=10), signal.SIGINT)
    check_folder()


@pytest.mark.parametrize(
    ("moment", "command"),
    [
        ("yaml", ("presets",)),
        ("voxcli.voices.store", ("voices", "list")),
        ("torch", ("doctor",)),
        ("torch", ("bench", "--concurrency", "1")),
        ("voxcli.diagnostics.bench", ("bench", "--concurrency", "1")),
        ("huggingface_hub", ("download",)),
        ("step", ("synth", "Hello there.", "-o", "a.wav", "--steps", "2")),
        ("step", ("synth", "Hello there.", "-o", "-", "--steps", "2")),
        ("torch", ("voices", "add", "me", "--ref", "v.wav")),
        ("voxcli.inputs.manifest", (*BATCH, "--dry-run")),
    ],
)
def test_every_command(moment: str, command: tuple[str, ...]) -> None:
    soundfile.write("v.wav", [0.1 * (n % 20 - 10) / 10 for n in range(32_000)], 16_000)
    check(interrupted(moment, signal.SIGINT, *command), signal.SIGINT)
    assert {path.name for path in Path().iterdir()} == {"lines.jsonl", "v.wav"}


@pytest.mark.parametrize("moment", ["torch.nn", "step"])
def test_the_cursor_is_shown_again(moment: str) -> None:
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "tests.cli.interrupting", moment, str(int(signal.SIGINT)), "3", *BATCH]
    with children.start(command, stderr=end) as process:
        os.close(end)
        shown = b""
        try:
            while more := os.read(terminal, 4096):
                shown += more
        except OSError:  # Linux reports the end of a terminal like this
            pass
    os.close(terminal)
    assert process.returncode == 130
    assert b"\x1b[?25l" in shown, "the progress bar hides it"
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert shown.count(b"voxcpm2: interrupted\r\n") == 1


def test_an_ignored_signal_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example with `nohup`."""
    monkeypatch.setenv("VOXCPM2_FAULT", "step:sigint:2")
    with children.sigint(signal.SIG_IGN):
        ended = subprocess.run([*children.VOXCPM2, *BATCH], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert check_folder() == LINES


def test_while_a_manifest_comes_through_a_pipe() -> None:
    number = signal.SIGINT
    command = [*children.VOXCPM2, "batch", "-", *BATCH[2:]]
    with children.start(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        process.stdin.write('{"text": "The first line."}\n')  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        while process.poll() is None and unread(process.stdin):
            time.sleep(0.01)
        process.send_signal(number)
        process.wait(timeout=60)  # the pipe is still open
        err = process.stderr.read()  # type: ignore[union-attr]
    check(subprocess.CompletedProcess(command, process.returncode, stderr=err), number)
    assert not Path("out").exists()


def unread(pipe: Any) -> bool:
    """Return True if the pipe contains data that was not read yet."""
    count = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return any(count)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number", "times"),
    [
        ("ray", signal.SIGINT, 1),
        ("ray._private.services:start_ray_process:2", signal.SIGINT, 1),
        ("ray._private.services:start_ray_process:2", signal.SIGTERM, 1),
        ("voxcli.cluster.ray_pool:place_workers:1", signal.SIGINT, 1),
        ("note", signal.SIGINT, 10),
        ("note", signal.SIGTERM, 1),
    ],
)
def test_with_workers(moment: str, number: signal.Signals, times: int) -> None:
    """No lock is left either: each worker has reported all its files."""
    pytest.importorskip("ray", reason="needs the extra `ray`")
    check(interrupted(moment, number, *BATCH, "--workers", "2", times=times), number)
    assert check_folder() == 0 or moment == "note"


# -- any time ----------------------------------------------------------------------------------------------------------
MOMENTS = os.environ.get("VOXCPM2_MOMENTS")


@pytest.mark.long
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("moments", "arguments"), [(20, ("presets",)), (150, BATCH), (150, (*BATCH, "--workers", "1"))], ids=str
)
def test_at_moments_of_the_clock(number: signal.Signals, moments: int, arguments: tuple[str, ...]) -> None:
    """Spread over the time of an undisturbed run. Print the outcomes. VOXCPM2_MOMENTS: how many moments.

    Before the program's first line Python itself handles the signal: it is killed, or shows a traceback.
    """
    code, line = ENDS[number]
    command = [*children.VOXCPM2, *arguments]
    seen: Counter[tuple[int, str]] = Counter()
    first: dict[tuple[int, str], float] = {}
    began = time.perf_counter()
    assert children.finished(command, capture_output=True).returncode == 0
    whole, moments = time.perf_counter() - began, int(MOMENTS or moments)
    for after in (whole * moment / moments for moment in range(moments)):
        shutil.rmtree("out", ignore_errors=True)
        began = time.perf_counter()
        with children.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(max(0.0, after - (time.perf_counter() - began)))
            process.send_signal(number)
            err = process.communicate(timeout=120)[1]
        check_folder()
        kind = process.returncode, (err.splitlines() or [""])[-1]
        if process.returncode != 0:  # 0: it ended before the signal
            before = kind == (-number, "") or (kind[1] == "KeyboardInterrupt" and "voxcli/" not in err)
            assert kind == (code, line) or before, err
            assert ("Traceback" in err) <= before
        seen[kind] += 1
        first.setdefault(kind, after)
    for kind, count in seen.most_common():
        print(f"\n{count:4} times from {first[kind]:.2f} s on: exit code {kind[0]}, {kind[1]!r}", end="")
    assert seen[code, line] > sum(seen.values()) / 2
