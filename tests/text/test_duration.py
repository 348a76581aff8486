from __future__ import annotations

import pytest

from voxcli.text.duration import HALF_SYLLABLE_S, LETTER_S, SYLLABLE_S, shortest_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Hello, world!", 10 * LETTER_S),
        ("Grüße, 42.", 7 * LETTER_S),
        ("Привет, мир", 9 * LETTER_S),
        ("你好，世界。", 4 * SYLLABLE_S),
        ("こんにちは", 5 * SYLLABLE_S),
        ("안녕하세요", 5 * SYLLABLE_S),
        ("タワー", 3 * SYLLABLE_S),
        ("ሰላም", 3 * SYLLABLE_S),
        ("สวัสดี", 4 * HALF_SYLLABLE_S),  # two of its characters are marks above a letter
        ("नमस्ते", 4 * HALF_SYLLABLE_S),
        ("用GPT写", 2 * SYLLABLE_S + 3 * LETTER_S),
        ("(a warm voice)Hi.", 2 * LETTER_S),
        ("[laughing] {HH AH0} Hi.", 2 * LETTER_S),
        ("Nooooooooo!!!!!", 3 * LETTER_S),
        ("...", 0.0),
        ("", 0.0),
    ],
)
def test_minimum_duration(text: str, seconds: float) -> None:
    assert shortest_seconds(text) == pytest.approx(seconds)
