"""The report of `voxcpm2 bench` on the tiny checkpoint; speeds are not checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.diagnostics.solver_error import SOLVERS


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
    assert report["solver"] == "euler"
    assert report["device"].startswith("CPU: ")
    for row in report["rows"]:
        seconds = 5 * report["patch_s"] * row["requests"]
        assert row["throughput"] == pytest.approx(seconds / (row["ms_per_step"] * 5 / 1000))
        assert set(row["parts_ms"]) == {"LocDiT", "LMs", "LocEnc", "audio decode", "other"}
        assert row["floor_ms"] > 0 and 0 < row["rtf"] <= row["rtf_p99"]
        assert 0 < row["first_patch_s"] < row["rtf"] * 5 * report["patch_s"]
        assert row["gpu_memory_gb"] is None


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--concurrency", "2", "--patches", "4", "--steps", "2", "--solver", "ab2"]) == 0
    out = capsys.readouterr().out
    assert "time per step" in out and "roofline" in out and "x real time" in out
    assert "per request: 4 patches of 0.08 s, 50 tokens of text, 2 steps of ab2, cfg 2" in out


def test_solver_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each of the solvers, and one for what was asked for; each with as many calls as it says."""
    command = ["bench", "--solver-error", "--patches", "4", "--cfg", "1.5", "--steps", "3", "--solver", "ab2"]
    assert run([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rows = {(row["solver"], row["steps"]): row for row in report["errors"]}
    assert list(rows) == [*(tuple(solver) for solver in SOLVERS), ("ab2", 3)]
    assert all(row["evaluations"] == steps - 1 for (_, steps), row in rows.items())
    assert 0 < report["resolution"] < rows["ab2", 10]["error"] < rows["ab2", 5]["error"] < rows["ab2", 3]["error"] < 1
    assert (report["cfg"], report["states"] >= 24) == (1.5, True)
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "relative RMS error of the patch against 200 midpoint steps" in " ".join(out.split())
    shown = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines()]
    assert ["ab2", "3", "2", f"{rows['ab2', 3]['error']:.4f}"] in shown


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
        (["--random-weights", "huge"], "--random-weights must be one of voxcpm2, not 'huge'"),
        (["--random-weights", "voxcpm2", "--model", "x"], "exclude each other"),
        (["--solver", "heun"], "solver must be one of euler, ab2, not 'heun'"),
        (["--solver-error", "--concurrency", "4"], "--solver-error and --concurrency exclude each other"),
        (["--solver-error", "--prompt-tokens", "9"], "--solver-error and --prompt-tokens exclude each other"),
        (["--solver-error", "--plot", "a.png"], "--solver-error and --plot exclude each other"),
    ],
)
def test_wrong_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err
