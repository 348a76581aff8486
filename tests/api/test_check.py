"""`check`, `same_voice` and `voice_seed` do what the options of `voxcpm2 batch` do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import voxcli
from tests.check.stub import use_stub
from voxcli import TTS, CheckOptions
from voxcli.check.models import CheckModel
from voxcli.cli.main import run
from voxcli.errors import ModelError

# a recording shorter than 1 s is no voice
LIMITS: dict[str, Any] = {"min_seconds": 1.2, "max_seconds": 1.5, "steps": 2}
OPTIONS = ["--min-seconds", "1.2", "--max-seconds", "1.5", "--steps", "2", "--allow-truncated", "--allow-doubtful"]
ROWS: list[dict[str, object]] = [
    {"id": "title", "text": "One.", "seed": 1},
    {"id": "first", "text": "The harbour was quiet that morning, and all the boats lay still.", "seed": 2},
    {"id": "second", "text": "Nobody came.", "seed": 3},
]


@pytest.fixture(autouse=True)
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_checkpoint: Path) -> None:
    """The stub hears random letters, and has a speaker encoder."""
    use_stub(monkeypatch, speaker=True)
    monkeypatch.setenv("VOXCPM2_MODEL", str(tiny_checkpoint))
    monkeypatch.chdir(tmp_path)
    Path("lines.jsonl").write_text("\n".join(map(json.dumps, ROWS)))


def of_command(*options: str) -> dict[str, bytes]:
    assert run(["batch", "lines.jsonl", "-o", "out", *OPTIONS, *options]) == 0
    return {path.name: path.read_bytes() for path in Path("out").glob("*.wav")}


def saved(clips: Iterator[voxcli.Speech]) -> dict[str, bytes]:
    return {clip.out: clip.save(f"api/{clip.out}").read_bytes() for clip in clips}


@pytest.mark.parametrize(
    ("options", "named"), [(("--same-voice",), {"same_voice": True}), (("--voice-seed", "7"), {"voice_seed": 7})]
)
def test_rows_in_one_voice_are_those_of_the_command(tts: TTS, options: tuple[str, ...], named: dict[str, Any]) -> None:
    expected = of_command(*options)
    assert len(expected) == 3
    assert saved(tts.batch(ROWS, **named, **LIMITS)) == expected
    assert saved(tts.batch(ROWS, **LIMITS)) != expected


def test_the_file_of_the_voice_is_gone_afterwards(tts: TTS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    clips = tts.batch(ROWS, same_voice=True, **LIMITS)
    assert next(clips).result.voice is None
    assert len(list(folder.glob("*/voice.safetensors"))) == 1
    clips.close()
    assert list(folder.iterdir()) == []


def test_checked_rows_are_those_of_the_command(tts: TTS) -> None:
    expected = of_command("--check", "--check-retries", "1", "--same-voice")
    lines = map(json.loads, Path("out/results.jsonl").read_text().splitlines())
    checks = {line["id"]: (line["status"], line["reason"], line["check"]) for line in lines}
    clips = list(tts.batch(ROWS, check=CheckOptions(retries=1), same_voice=True, **LIMITS))
    assert saved(iter(clips)) == expected
    assert {clip.id: (clip.result.status, clip.result.reason, _as_json(clip.result.check)) for clip in clips} == checks
    assert {status for status, _, _ in checks.values()} == {"doubtful"}
    assert all(check["takes"] == 2 and check["similarity"] is not None for _, _, check in checks.values())


def _as_json(check: object) -> Any:
    return json.loads(json.dumps(check))


def test_one_text(tts: TTS, remarks: list[str]) -> None:
    clip = tts.speak("Good luck.", check=True, seed=3, **LIMITS)
    assert clip.result.doubtful and clip.result.check is not None
    assert clip.result.check["takes"] == 3
    assert f"doubtful: {clip.result.reason}" in remarks
    assert tts.speak("Good luck.", seed=3, **LIMITS).result.check is None


def test_a_recognizer_that_can_not_be_loaded(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voxcli.check.checker.resolve_check_model", lambda *_: CheckModel(Path("broken"), "broken"))
    with pytest.raises(ModelError, match="the recognizer can't be loaded"):
        tts.speak("Good luck.", check=True, **LIMITS)
    assert tts.speak("Good luck.", **LIMITS).duration_s > 0, "the engine can still be used"
