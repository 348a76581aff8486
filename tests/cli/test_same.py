"""The same line, seed and model: the same bytes, by whichever command, beside whatever lines, in any order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.cli.main import run

TEXTS = {
    "short": "Hello there.",
    "other": "One two three four five.",
    "long": "The wind came over the hill. It did not stop there. " * 2,
    "last": "Go on.",
    "more": "A line of some more words than that.",
}
SETTINGS = ["--seed", "9", "--steps", "3", "--max-seconds", "1.5", "--max-chars", "60", "--allow-truncated"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_checkpoint: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))


def batch(out: str, names: list[str], *options: str) -> dict[str, bytes]:
    Path("lines.jsonl").write_text("\n".join(json.dumps({"id": name, "text": TEXTS[name]}) for name in names))
    assert run(["batch", "lines.jsonl", "-o", out, *SETTINGS, *options]) == 0
    return {name: Path(out, f"{name}.wav").read_bytes() for name in names}


def test_alone_together_twice_and_in_another_order() -> None:
    names = list(TEXTS)
    together = batch("together", names)
    assert len(set(together.values())) == len(names)
    assert batch("again", names) == together
    assert batch("two-at-a-time", names[::-1], "--max-batch", "2") == together
    assert batch("some", names[1:3]) == {name: together[name] for name in names[1:3]}
    for name, sound in together.items():
        assert run(["synth", TEXTS[name], "-o", "alone.wav", *SETTINGS]) == 0
        assert Path("alone.wav").read_bytes() == sound, name
