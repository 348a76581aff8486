"""The notebook and the examples of the README run as they are, without Jupyter."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from voxcli import TTS, Speech


def display(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line if that is an expression, as a notebook does."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.fixture
def samples(repository: Path, tmp_path: Path, brief_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    (tmp_path / "demo").symlink_to(repository / "samples" / "demo")
    (tmp_path / "samples").symlink_to(repository / "samples")
    monkeypatch.chdir(tmp_path)
    return repository / "samples"


@pytest.mark.filterwarnings("ignore::voxcli.VoxWarning")
def test_the_notebook_runs(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((samples / "notebook.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells), "saved without outputs"
    names: dict[str, Any] = {}
    shown = [display("".join(cell["source"]), names) for cell in cells]
    assert isinstance(shown[0], TTS)
    players = [value for value in shown if isinstance(value, Speech)]
    assert len(players) == 3
    assert all(
        '<audio controls preload="metadata" src="data:audio/wav;base64,UklGR' in each._repr_html_() for each in players
    )
    printed = capsys.readouterr().out.splitlines()
    assert "lost no such file.wav: no such file" in printed
    assert sorted(path.name for path in Path("speech").iterdir()) == ["fog.wav", "welcome.wav"]
    assert Path("sunrise.flac").exists()
    assert any(re.fullmatch(r"\d\.\d\d s of audio after \d+\.\d\d s", line) for line in printed)


@pytest.mark.filterwarnings("ignore::voxcli.VoxWarning")
def test_the_examples_of_the_readme_run(samples: Path, repository: Path) -> None:
    text = (repository / "voxcli" / "api" / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        exec(block, names)
    assert {path.name for path in Path().glob("*.*")} >= {"hello.mp3", "night.flac", "joe.wav"}
    assert sorted(path.name for path in Path("speech").iterdir()) == ["a.wav", "b.wav"]
    names["tts"].close()
