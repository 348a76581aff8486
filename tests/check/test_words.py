"""Words of texts and transcripts, normalized for a comparison."""

from __future__ import annotations

import pytest

from voxcli.check.words import Word, words_of

NORMALIZE = pytest.importorskip("wetext") and pytest.importorskip("inflect")


def keys(text: str, *languages: str) -> list[str]:
    return [word.key for word in words_of(text, frozenset(languages))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It's seven o'clock \u2013 GO!", "its 7 oclock, go"),
        ("Mr. Smith paid $5.20.", "mister smith paid five dollars and twenty cents"),
        ("The caf\u00e9's na\u00efve owner", "the cafes naive owner"),
        ("a well-known, 20-year-old oak", "A well known twenty year old oak."),
        ("bread & butter", "Bread and butter."),
        ("It was \u201cfine\u201d\u2026", "It was fine."),
        ("In 1984 it began.", "In nineteen eighty-four it began."),
    ],
)
def test_both_sides_are_the_same(one: str, other: str) -> None:
    assert keys(one, "en") == keys(other, "en")


def test_different_words_stay_different() -> None:
    assert keys("fog") != keys("fox")
    assert keys("fifteen") != keys("fifty")
    assert keys("15") != keys("50")


def test_places_are_those_of_the_written_text() -> None:
    text = "So: pay $5 now!"
    found = words_of(text, frozenset({"en"}))
    assert found == [
        Word("so", 0, "So"),
        Word("pay", 4, "pay"),
        Word("five", 9, "5"),
        Word("dollars", 9, "5"),
        Word("now", 11, "now"),
    ]
    assert all(text[word.place :].startswith(word.text) for word in found)


def test_words_of_a_lexicon_have_the_places_of_the_written_ones() -> None:
    found = words_of("Call Nguyen today.", spoken="Call win today.")
    assert found == [Word("call", 0, "Call"), Word("win", 5, "Nguyen"), Word("today", 12, "today")]


def test_scripts_without_spaces_are_compared_by_character() -> None:
    assert keys("\u4eca\u5929\u597d\u3002Hello", "zh") == ["\u4eca", "\u5929", "\u597d", "hello"]
    assert keys("\u306f\u3072\u3001\u3071", "ja") == ["\u306f", "\u3072", "\u3071"], "marks of kana change the syllable"
    assert keys("\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "th")[0] == "\u0e2a"


def test_marks_of_abugidas_and_hangul_stay() -> None:
    assert keys("\u0928\u092e\u0938\u094d\u0924\u0947", "hi") == ["\u0928\u092e\u0938\u094d\u0924\u0947"]
    assert keys("\ud55c\uad6d", "ko") == ["\ud55c\uad6d"]


def test_german_numbers_are_read_in_german() -> None:
    pytest.importorskip("unicode_rbnf")
    assert keys("Er hatte 3 Hunde.", "de") == keys("Er hatte drei Hunde", "de")


def test_a_text_without_words_has_none() -> None:
    assert keys("... \u2026 !", "en") == []
