"""Text without tokens in the model is not spoken, and a warning or an error reports it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from voxcli.cli.main import run
from voxcli.errors import InputError
from voxcli.jobs.unknown import unknown_letters


class Ascii:
    """Knows only ASCII."""

    def unknown(self, text: str) -> str:
        return "".join(char for char in text if not char.isascii())


def warnings(*texts: str, prompt_text: str = "") -> list[str]:
    return list(unknown_letters(Ascii(), texts, prompt_text))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Hello there."], []),
        (["Hello \u2014 there\u2026"], []),  # punctuation does not count
        (["Hello 世界 and goodbye."], ["not spoken, the model does not know 世, 界: 2 of 17 letters"]),
        (["Hello.", "世 is one."], ["not spoken, the model does not know 世: 1 of 11 letters"]),
        (["It costs \u20ac5."], ["not spoken, the model does not know \u20ac"]),
        (["(温)Hello."], ["the model does not know 温 in the description of the voice"]),
    ],
)
def test_text_that_is_not_spoken_is_reported(texts: list[str], expected: list[str]) -> None:
    assert warnings(*texts) == expected


def test_the_transcript_of_a_recording_is_checked_too() -> None:
    assert warnings("Hello.", prompt_text="你好 ") == ["the model does not know 你, 好 in the words of the recording"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["你好，世界。"], "the model knows none of the letters of this text (你, 好, 世, 界)"),
        (["Привет, мир и все люди!"], r"none of the letters of this text \(П, р, и, в, е, т, м, с and 3 more\)"),
        (["Hi 你好世界。"], r"the model knows 2 of 6 of the letters of this text \(你, 好, 世, 界\)"),
        (["Hi.", "你好世界。"], "the model knows 2 of 6"),
    ],
)
def test_a_mostly_unknown_text_is_rejected(texts: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=expected.replace("text (", r"text \(").replace("界)", r"界\)")):
        warnings(*texts)


def test_the_demo_voice_rejects_text_in_unknown_letters(
    demo_voice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"zh": "你好，世界。", "ru": "Привет, мир.", "mixed": "Hi 世 you."}
    Path("lines.jsonl").write_text("".join(json.dumps({"id": name, "text": texts[name]}) + "\n" for name in texts))
    command = ["batch", "lines.jsonl", "-o", "out", "--model", str(demo_voice), "--steps", "2", "--max-seconds", "1"]
    assert run([*command, "--allow-truncated"]) == 1
    results = {result["id"]: result for result in map(json.loads, Path("out/results.jsonl").read_text().splitlines())}
    assert {name: result["status"] for name, result in results.items()} == {
        "zh": "failed",
        "ru": "failed",
        "mixed": "ok",
    }
    assert "the model knows none of the letters of this text (П, р, и, в, е, т, м)" in results["ru"]["error"]
    assert "not spoken, the model does not know 世: 1 of 6 letters" in results["mixed"]["warnings"]
    assert not Path("out/zh.wav").exists()
    capsys.readouterr()
    assert run(["synth", texts["zh"], "-o", "-", "--model", str(demo_voice)]) == 2
    assert "the model knows none of the letters of this text (你, 好, 世, 界)" in capsys.readouterr().err
