"""The report of `voxcpm2 bench` on the tiny checkpoint; speeds are not checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.cli.main import run


@pytest.fixture(autouse=True)
def small_measurements(monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))


def test_json_has_a_row_for_each_number_of_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["bench", "--concurrency", "1,3", "--patches", "5", "--prompt-tokens", "7", "--steps", "4", "--json"]) == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert [row["requests"] for row in report["rows"]] == [1, 3]
    assert (report["patches"], report["prompt_tokens"], report["steps"], report["attention"]) == (5, 7, 4, "torch")
    assert report["device"].startswith("CPU: ")
    for row in report["rows"]:
        seconds = 5 * report["patch_s"] * row["requests"]
        assert row["throughput"] == pytest.approx(seconds / (row["ms_per_step"] * 5 / 1000))
        assert set(row["parts_ms"]) == {"LocDiT", "LMs", "LocEnc", "audio decode", "other"}
        assert row["floor_ms"] > 0 and 0 < row["rtf"] <= row["rtf_p99"]
        assert 0 < row["first_patch_s"] < row["rtf"] * 5 * report["patch_s"]
        assert row["gpu_memory_gb"] is None


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--concurrency", "2", "--patches", "4", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "time per step" in out and "roofline" in out and "x real time" in out
    assert "per request: 4 patches of 0.08 s, 50 tokens of text, 2 steps, cfg 2" in out


def test_a_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "bench.png"
    assert run(["bench", "--concurrency", "1,2", "--patches", "4", "--steps", "2", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--concurrency", "0"], "--concurrency must be numbers like 1,4,16"),
        (["--concurrency", "a"], "--concurrency must be numbers like 1,4,16"),
        (["--random-weights", "huge"], "--random-weights knows voxcpm2, not 'huge'"),
        (["--random-weights", "voxcpm2", "--model", "x"], "exclude each other"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
