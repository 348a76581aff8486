"""Commands that really run out of memory, under a limit of the address space."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits a process as Linux does")

# The limit is set after torch is imported, so that the model and its tables lack memory, not the libraries.
LIMITED = """
import resource, sys, soundfile, torch
from voxcli.cli.main import run
import voxcli.engine.engine, voxcli.model.weights, voxcli.run.session
size = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + int(sys.argv[1]) * 2**20,) * 2)
sys.exit(run(sys.argv[2:]))
"""


def limited(mib: int, *arguments: str) -> tuple[int, list[str]]:
    """Run a command that may use `mib` MiB beyond its libraries. Returns the exit code and the stderr lines."""
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(mib), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    return ended.returncode, ended.stderr.splitlines()


def test_a_model_that_does_not_fit_is_one_line(demo_voice: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.wav"
    for mib in (60, 100):  # not enough to read the header; not enough for all weights
        code, lines = limited(mib, "synth", "Hi.", "-o", str(out), "--model", str(demo_voice))
        assert (code, len(lines)) == (3, 1), lines
        assert lines[0].startswith(f"voxcpm2: {demo_voice} does not fit into memory ("), lines
    assert not out.exists()


def test_one_line_takes_no_tables_for_thirty_two(demo_voice: Path, tmp_path: Path) -> None:
    """The cache of the default 32 requests alone would need 290 MiB of address space."""
    out = tmp_path / "a.wav"
    arguments = ("synth", "Hi.", "-o", str(out), "--model", str(demo_voice), "--steps", "2", "--seed", "1")
    code, lines = limited(260, *arguments)
    assert code == 0, lines
    assert out.is_file()


def test_a_batch_that_no_memory_can_hold_is_refused(demo_voice: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("Hi.\n")
    arguments = ("batch", str(tmp_path / "lines.txt"), "-o", str(tmp_path / "out"), "--model", str(demo_voice))
    code, lines = limited(2**20, *arguments, "--max-batch", "1000000000")
    assert code == 3, lines
    assert "does not fit into memory (OSError: [Errno 12] Cannot allocate memory)" in lines[-1]
