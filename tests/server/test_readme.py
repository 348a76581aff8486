"""What the README shows runs as typed: each curl line, and the example in Python."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import soundfile

from tests.server.servers import Served

README = (Path(__file__).parents[2] / "voxcli" / "server" / "README.md").read_text(encoding="utf-8")
LINES = re.findall(r"^    (curl (?:[^\n']|'[^']*')+)$", README, re.MULTILINE)


def test_the_lines_are_found() -> None:
    assert len(LINES) == 12 and README.count("    curl ") == 12


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_each_curl_line_does_what_it_shows(
    server: Served, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(repository / "samples")
    for line in LINES:
        typed = line.replace("localhost:8000", server.url.removeprefix("http://")).replace("curl ", "curl --fail ", 1)
        typed = typed.replace("\n    ", "\n")  # as it is copied
        made = subprocess.run(["bash", "-c", typed], capture_output=True, check=False)
        assert made.returncode == 0, (line, made)
        if found := re.search(r" -o (\S+)$", line):
            content = (tmp_path / found[1]).read_bytes()
            assert content[:4] == b"RIFF" if found[1].endswith(".wav") else soundfile.info(io.BytesIO(content)).frames
        elif "/batch" in line:
            assert [json.loads(row)["status"] for row in made.stdout.splitlines()] == ["ok", "ok"]
        elif "sse" in line:
            assert made.stdout.startswith(b"data: {") and b"speech.audio.done" in made.stdout
        elif "/metrics" in line:
            assert b"voxcpm2_rows_limit 32" in made.stdout
        else:
            assert isinstance(json.loads(made.stdout), dict)


def test_the_example_in_python_runs(server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert "http://127.0.0.1:8000" in code
    exec(code.replace("http://127.0.0.1:8000", server.url), {})
    assert soundfile.info("hello.wav").frames > 0
