"""A batch that is killed with SIGKILL at any moment and rerun gives the files of an undisturbed batch."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests import children
from voxcli.files.names import LOCK_NAME
from voxcli.model.hub import demo_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")

LINES = "lines.jsonl"
TALE = "the river ran under an old stone bridge and nobody on it could remember when it had been built"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(repository))


def batch(out: str, *options: str) -> subprocess.Popen[str]:
    return children.start([*children.VOXCPM2, "batch", LINES, "-o", out, *options], stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for a batch with some failed lines and return its stderr."""
    err = process.communicate(timeout=3600)[1]
    assert process.returncode == 1, err
    assert "Traceback" not in err
    return err


def kill_after(process: subprocess.Popen[str], moment: Callable[[], bool]) -> None:
    while process.poll() is None and not moment():
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def results(out: str) -> dict[str, dict[str, Any]]:
    """Read results as a simple tool does: the last complete line of an id."""
    found = {}
    path = Path(out, "results.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            result = json.loads(line)
        except ValueError:
            continue
        found[result["id"]] = result
    return found


def lines_of(out: str) -> int:
    """Count results approximately; cheap enough to poll while a long batch runs."""
    path = Path(out, "results.jsonl")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def voice(name: str, pitch: float) -> str:
    t = np.arange(16_000 * 2) / 16_000
    tone = np.sin(2 * np.pi * pitch * t) * (0.2 + 0.1 * np.sin(2 * np.pi * 3 * t))
    soundfile.write(name, tone.astype(np.float32), 16_000)
    return name


def write_lines(count: int, rng: random.Random, longest_words: int, **common: Any) -> int:
    """Write lines of many lengths, languages and voices, 5 % of which can't be spoken. Returns how many can."""
    voices = [voice("low.wav", 120.0), voice("high.wav", 230.0)]
    Path("broken.wav").write_text("no sound")
    rows: list[dict[str, Any]] = []
    bad = set(rng.sample(range(count), count // 20))
    for n in range(count):
        words = " ".join(rng.choice(TALE.split()) for _ in range(rng.randint(1, longest_words)))
        row: dict[str, Any] = {"id": f"line-{n:04d}", "text": f"{words.capitalize()}.", "seed": n, **common}
        if n % 9 == 4:
            row["text"] = rng.choice(["春天来了，花开了。", "Der Fluss war alt.", "El puente es viejo.", "川は古い。"])
        if n % 5 == 2:
            row["ref"] = voices[n % 2]
        if n % 7 == 3:
            row["out"] = f"part-{n % 3}/{n}.flac"
        if n in bad:
            row |= [{"text": ""}, {"ref": "broken.wav"}, {"ref": "missing.wav"}][n % 3]
        rows.append(row)
    Path(LINES).write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return count - len(bad)


def check_folder(out: str, good: int, count: int) -> None:
    """Check that no partial or temporary file is left and that the results match the files."""
    found = results(out)
    assert len(found) == len(Path(out, "results.jsonl").read_text(encoding="utf-8").splitlines()) == count
    done = [result for result in found.values() if result["status"] == "ok"]
    assert len(done) == good
    assert {str(path.relative_to(out)) for path in Path(out).rglob("*") if path.is_file()} == {
        "results.jsonl",
        *(result["out"] for result in done),
    }
    for result in done:
        path = Path(out, result["out"])
        samples, rate = soundfile.read(path)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == result["sha256"]
        assert (len(samples) / rate, rate) == (pytest.approx(result["duration_s"], abs=1e-4), result["sample_rate"])


@pytest.mark.slow
def test_a_batch_killed_at_random_moments_ends_as_one_that_was_not(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    rng = random.Random(5)
    count = 24
    good = write_lines(count, rng, 8, steps=2, max_seconds=1.5)
    # one line at a time: batch neighbours change the last bits of the audio, and bytes are compared here
    Path("alone.yaml").write_text("engine: {max_batch: 1, decode_clips: 1}")
    options = ["--preset", "alone.yaml", "--allow-truncated"]
    finish(batch("whole", *options))
    check_folder("whole", good, count)

    for _ in range(3):
        had = len(results("killed"))
        more, pause = rng.randint(2, 5), rng.random() / 20
        with batch("killed", *options) as process:
            kill_after(process, lambda had=had, more=more: len(results("killed")) >= had + more)  # type: ignore[misc]
            time.sleep(pause)
    for name in ("results.jsonl", LOCK_NAME):
        assert Path("killed", name).is_file()
    with open("killed/results.jsonl", "ab") as file:
        file.write(b'{"id": "line-0001", "out": "li')  # a line cut off by a power failure
    old = Path("killed", f".voxcpm2-{'0123' * 8}.part")
    old.write_bytes(b"RIFF")
    os.utime(old, (0, 0))

    before = {name: result for name, result in results("killed").items() if result["status"] == "ok"}
    err = finish(batch("killed", *options))
    assert f"{len(before)} lines done before and unchanged, {good - len(before)} to speak" in err
    check_folder("killed", good, count)
    for name, result in results("whole").items():
        again = results("killed")[name]
        assert {**again, "wall_s": 0, "rtf": 0, "finished": 0} == {**result, "wall_s": 0, "rtf": 0, "finished": 0}
    for name, result in before.items():
        assert results("killed")[name] == result


def test_a_second_run_in_the_folder_is_refused_in_one_line(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    Path(LINES).write_text("\n".join(json.dumps({"text": f"Line {n}."}) for n in range(300)))
    with batch("out") as first:
        while first.poll() is None and not results("out"):
            time.sleep(0.01)
        second = batch("out")
        err = second.communicate(timeout=120)[1]
        first.kill()
    assert second.returncode == 1
    *_, line = err.splitlines()  # the first lines describe the manifest
    assert line.startswith(f"voxcpm2: another run (process {first.pid} on ")
    assert line.endswith(" is writing into out; wait for it to end, or choose another folder")


@pytest.mark.slow
@pytest.mark.book
def test_a_book_of_the_demo_voice_killed_five_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pytest -m book -s` prints the times. VOXCPM2_BOOK_LINES: number of lines (1,000)."""
    model = os.environ.get("VOXCPM2_BOOK_MODEL") or demo_folder()
    if model is None:
        pytest.skip("the demo voice is not here")
    monkeypatch.setenv("VOXCPM2_MODEL", str(model))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    count = int(os.environ.get("VOXCPM2_BOOK_LINES", "1000"))
    rng = random.Random(6)
    good = write_lines(count, rng, 30, max_seconds=20)
    marks = sorted(rng.sample(range(1, count), 5))
    for mark in marks:
        with batch("killed", "--allow-truncated") as process:
            kill_after(process, lambda mark=mark: lines_of("killed") >= mark)  # type: ignore[misc]
    began, err = time.monotonic(), finish(batch("killed", "--allow-truncated"))
    print(f"killed at {marks} results; the rest took {time.monotonic() - began:.0f} s:\n{err}")
    check_folder("killed", good, count)

    began, err = time.monotonic(), finish(batch("whole", "--allow-truncated", "--profile"))
    print(f"undisturbed, {time.monotonic() - began:.0f} s:\n{err}")
    check_folder("whole", good, count)
    equal, furthest = 0, 0.0
    for name, result in results("whole").items():
        again = results("killed")[name]
        for field in ("status", "out", "patches", "stop_reason", "seed", "duration_s", "fingerprint", "error"):
            assert again[field] == result[field], (name, field)
        if result["status"] == "ok":
            equal += again["sha256"] == result["sha256"]
            sounds = [soundfile.read(Path(folder, result["out"]))[0] for folder in ("whole", "killed")]
            furthest = max(furthest, float(np.abs(sounds[0] - sounds[1]).max()))
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{equal} of {good} files equal in every byte; the furthest sample apart by {furthest:.1e}")
    print(f"at most {largest:.2f} GiB of memory")
    assert equal == good
    assert largest < 2
