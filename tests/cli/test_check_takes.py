"""`--takes`, `--same-voice` and `--check` together, with a stub for the recognizer, which hears random letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.check.stub import use_stub
from voxcli.cli.main import run

TEXTS = {"a": "Good luck.", "b": "The sun is rising."}
EACH = {(identity, take) for identity in TEXTS for take in (1, 2)}
# a recording shorter than 1 s is no voice
LIMITS = [
    "--allow-truncated",
    "--min-seconds",
    "1.2",
    "--max-seconds",
    "1.5",
    "--takes",
    "2",
    "--check",
    "--check-retries",
    "1",
]
Results = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, brief_checkpoint: Path, tmp_path: Path) -> None:
    """The stub has a speaker encoder."""
    use_stub(monkeypatch, speaker=True)
    monkeypatch.setenv("VOXCPM2_MODEL", str(brief_checkpoint))
    monkeypatch.chdir(tmp_path)
    rows = [{"id": identity, "text": text} for identity, text in TEXTS.items()]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def batch(*options: str, code: int = 1) -> None:
    assert run(["batch", "lines.jsonl", "-o", "out", *LIMITS, *options]) == code


def results() -> Results:
    """Read results as a simple tool does: the last line of each take."""
    lines = map(json.loads, Path("out/results.jsonl").read_text().splitlines())
    return {(line["id"], line["take"]): line for line in lines}


def seeds_of(line: dict[str, Any]) -> set[int]:
    """The seeds that a take was spoken with."""
    return set(range(line["check"]["first_seed"], line["check"]["next_seed"]))


def test_each_take_is_checked_and_spoken_again_with_seeds_of_its_own() -> None:
    batch()
    found = results()
    assert found.keys() == EACH
    assert {line["status"] for line in found.values()} == {"doubtful"}
    assert {line["check"]["takes"] for line in found.values()} == {2}
    for identity in TEXTS:
        assert not seeds_of(found[identity, 1]) & seeds_of(found[identity, 2])
    files = {path.name: path.read_bytes() for path in Path("out").glob("*.wav")}
    assert files.keys() == {"a.wav", "a.take2.wav", "b.wav", "b.take2.wav"}
    assert len(set(files.values())) == 4


def test_a_resumed_run_keeps_all_takes_and_listens_to_none(capsys: pytest.CaptureFixture[str]) -> None:
    batch()
    before = results()
    capsys.readouterr()
    batch("--allow-doubtful", code=0)
    error = capsys.readouterr().err
    assert "4 takes done before and unchanged, 0 to speak" in error
    assert "listening" not in error
    assert results() == before


def test_a_lost_take_comes_back_by_the_same_choice() -> None:
    batch("--same-voice")
    before = results()
    Path("out/a.take2.wav").unlink()
    batch("--same-voice")
    after = results()
    for name in ("sha256", "seed", "check"):
        assert {key: line[name] for key, line in after.items()} == {key: line[name] for key, line in before.items()}


def test_takes_in_one_voice_are_compared_with_it() -> None:
    batch("--same-voice", "--min-similarity", "0.5")
    found = results()
    assert found.keys() == EACH
    assert {line["voice"] for line in found.values()} == {"voice.safetensors"}
    assert len({line["fingerprint"]["voice"] for line in found.values()}) == 1
    assert all(isinstance(line["check"]["similarity"], float) for line in found.values())
    assert {line["check"]["limits"]["min_similarity"] for line in found.values()} == {0.5}


def test_without_a_voice_there_is_nothing_to_compare_with() -> None:
    batch("--no-same-voice")
    assert {line["check"]["similarity"] for line in results().values()} == {None}


def test_failed_takes_go_on_with_seeds_that_were_not_tried() -> None:
    batch("--same-voice")
    before = results()
    batch("--same-voice", "--retry-failed")
    after = results()
    assert after.keys() == EACH
    for key, line in after.items():
        assert line["check"]["first_seed"] == before[key]["check"]["next_seed"]
        assert line["fingerprint"]["voice"] == before[key]["fingerprint"]["voice"]
