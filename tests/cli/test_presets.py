from __future__ import annotations

from pathlib import Path

import pytest

from voxcli.cli.main import run


def test_one_bad_preset_keeps_none_of_the_others_from_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "voxcpm2" / "presets"
    own.mkdir(parents=True)
    (own / "bad.yaml").write_text("settings: {stepz: 5}\n")
    (own / "broken.yaml").write_text("[")
    (own / "folder.yaml").mkdir()
    (own / "none.yaml").symlink_to("nowhere")
    assert run(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.split()[0] for line in lines if line[:1].isalpha()]
    others = ["audiobook", "balanced", "dialogue", "fast", "low-memory", "phone", "quality"]
    assert heads[:-1] == sorted([*others, "bad", "broken", "folder", "none"])
    (bad,) = (line for line in lines if line.startswith("bad "))
    assert bad.endswith(f"preset {own}/bad.yaml: settings.stepz: extra inputs are not permitted")
    assert sum(line.startswith(("broken ", "folder ", "none ")) for line in lines) == 3


def test_presets_tells_what_each_sets_and_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "voxcpm2" / "presets"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("description: for me\nsettings: {cfg: 1.5, normalize: true}\n")
    assert run(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("fast        five calls of LocDiT per patch instead of nine, which take most of the time")
    assert lines[at + 1] == "            steps 6, solver ab2"
    assert "            max_chars 160, max_batch 4, prefill_tokens 512, decode_clips 2" in lines
    at = lines.index("mine        for me")
    assert lines[at + 1] == f"            cfg 1.5, normalize true ({own / 'mine.yaml'})"
    assert lines[-1] == f"Your own: {own}/NAME.yaml, or --preset FILE.yaml"
