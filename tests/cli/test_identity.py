"""The identity of a model when a batch is resumed: the files that synthesis uses, by the current and former rule."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.model.hub import model_identity

COMMAND = ["batch", "lines.txt", "-o", "out", "--allow-truncated", "--model", "model"]


@pytest.fixture
def model(brief_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a finished batch of one line, and its model."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(brief_checkpoint, "model")
    Path("lines.txt").write_text("Hello there.\n")
    assert run(COMMAND) == 0
    return tmp_path / "model"


def again(capsys: pytest.CaptureFixture[str]) -> bool:
    capsys.readouterr()
    assert run(COMMAND) == 0
    return "1 line done before and unchanged, 0 to speak" in capsys.readouterr().err


def test_a_file_that_speech_does_not_use_changes_nothing(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model / "special_tokens_map.json").write_text("{}")
    (model / "tokenizer_config.json").write_text('{"a": 1}')
    assert again(capsys)
    config = model / "config.json"
    config.write_text(config.read_text() + " ")
    assert not again(capsys)


def test_of_two_alternatives_the_one_that_is_read_counts(model: Path) -> None:
    before = model_identity([model])
    (model / "pytorch_model.bin").write_text("never read beside model.safetensors")
    assert model_identity([model]) == before
    (model / "model.safetensors").unlink()
    assert model_identity([model]) != before


def test_results_under_the_former_rule_still_hold(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = model_identity([model])
    (model / "tokenizer_config.json").write_text("{}")
    former = model_identity([model], former=True)
    assert former != now
    log = Path("out/results.jsonl")
    line = json.loads(log.read_text())
    assert line["fingerprint"]["model"] == now
    line["fingerprint"]["model"] = former
    log.write_text(json.dumps(line) + "\n")
    assert again(capsys)
    line["fingerprint"]["model"] = "0" * 16
    log.write_text(json.dumps(line) + "\n")
    assert not again(capsys)
