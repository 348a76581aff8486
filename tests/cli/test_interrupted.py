"""Ctrl-C and SIGTERM at exact moments of the program, from its first import to its last file: one line, 130 or 143."""

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

import pytest
import soundfile

from tests import children
from voxcli.files.names import LOCK_NAME

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")

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
    """Nothing half written, nothing left over: how many files there are."""
    out = Path("out")
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    sounds = {name for name in names if name.endswith(".wav")}
    assert names - sounds <= {"results.jsonl"}
    for name in sounds:
        assert soundfile.info(out / name).frames > 0
    return len(sounds)


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("voxcli.cli.main", signal.SIGINT),
        ("typer", signal.SIGTERM),
        ("pydantic", signal.SIGINT),
        ("voxcli.run.batch", signal.SIGINT),
        # from here on there is a folder that is locked
        ("torch", signal.SIGINT),
        ("torch._opaque_base", signal.SIGINT),  # imported by C++, which ends the process where that raises
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
    assert check_folder() == 0 or moment in ("write", "note"), "what has been spoken by then is finished"


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
        except OSError:  # what Linux has for the end of a terminal
            pass
    os.close(terminal)
    assert process.returncode == 130
    assert b"\x1b[?25l" in shown, "a bar hides it"
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert shown.count(b"voxcpm2: interrupted\r\n") == 1


def test_whoever_has_it_ignored_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `nohup`."""
    monkeypatch.setenv("VOXCPM2_FAULT", "step:sigint:2")
    with children.sigint(signal.SIG_IGN):
        ended = subprocess.run([*children.VOXCPM2, *BATCH], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert check_folder() == LINES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "number", "times"),
    [("ray", signal.SIGINT, 1), ("note", signal.SIGINT, 10), ("note", signal.SIGTERM, 1)],
)
def test_with_workers(moment: str, number: signal.Signals, times: int) -> None:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    check(interrupted(moment, number, *BATCH, "--workers", "1", times=times), number)
    Path("out", LOCK_NAME).unlink(missing_ok=True)  # left where a worker may have written what no result tells of
    check_folder()


# -- whenever ----------------------------------------------------------------------------------------------------------
STEP_MS = float(os.environ.get("VOXCPM2_STEP_MS", "20"))


@pytest.mark.long
@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("until_ms", "arguments"), [(400, ("presets",)), (3000, BATCH), (8000, (*BATCH, "--workers", "1"))], ids=str
)
def test_at_moments_of_the_clock(number: signal.Signals, until_ms: int, arguments: tuple[str, ...]) -> None:
    """Prints what came of it; VOXCPM2_STEP_MS: between the moments.

    What comes before the first line of the program is Python's own: the signal kills it, or its traceback is shown.
    """
    code, line = ENDS[number]
    command = [*children.VOXCPM2, *arguments]
    seen: Counter[tuple[int, str]] = Counter()
    first: dict[tuple[int, str], float] = {}
    after = 0.0
    while after < until_ms:
        shutil.rmtree("out", ignore_errors=True)
        began = time.perf_counter()
        with children.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(max(0.0, after / 1000 - (time.perf_counter() - began)))
            process.send_signal(number)
            told = process.communicate(timeout=120)[1]
        if "--workers" in arguments:
            Path("out", LOCK_NAME).unlink(missing_ok=True)
        check_folder()
        kind = process.returncode, (told.splitlines() or [""])[-1]
        if process.returncode != 0:  # 0: it had ended before
            before = kind == (-number, "") or (kind[1] == "KeyboardInterrupt" and "voxcli/" not in told)
            assert kind == (code, line) or before, told
            assert ("Traceback" in told) <= before
        seen[kind] += 1
        first.setdefault(kind, after)
        after += STEP_MS
    for kind, count in seen.most_common():
        print(f"\n{count:4} times from {first[kind]:.0f} ms on: exit code {kind[0]}, {kind[1]!r}", end="")
    assert seen[code, line] > sum(seen.values()) / 2
