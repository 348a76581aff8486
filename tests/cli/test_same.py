"""The same line, seed and model give the same bytes with any command, beside any other lines, in any order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.kernels import exact, torch_ops

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


def claims(out: str) -> list[bool | None]:
    return [json.loads(line)["exact"] for line in Path(out, "results.jsonl").read_text().splitlines()]


def test_what_is_lost_comes_back_as_it_was() -> None:
    together = batch("speech", list(TEXTS))
    assert claims("speech") == [True] * len(TEXTS)
    for name in ("other", "last"):
        Path("speech", f"{name}.wav").unlink()
    assert batch("speech", list(TEXTS)) == together
    assert claims("speech") == [True] * len(TEXTS)


def test_nothing_is_claimed_where_no_way_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(exact, "_found", {})
    monkeypatch.setattr(exact, "_remembered", {})
    monkeypatch.setattr(torch_ops, "product_holds", lambda *product: False)
    batch("speech", ["short", "last"])
    assert claims("speech") == [False, False]
    lines = [line for line in capsys.readouterr().err.splitlines() if "last bits" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "voxcpm2: the same seed gives the same speech on this machine, "
        "but its last bits depend on the rest of the batch ("
    )
