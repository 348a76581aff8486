from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxcli.text.clean import clean
from voxcli.text.description import (
    MAX_DESCRIPTION,
    compose,
    described_by,
    is_certain,
    split_control,
    without_leading_brackets,
)

BRACKETED = st.text(st.sampled_from(list("aA (),.warm voice\uff08\uff09\u597d\u58f0\"'[]")), max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(warm)Hi", ("warm", "Hi")),
        ("  ( warm )  Hi", ("warm", "Hi")),
        ("\uff08\u6e29\u67d4\uff09 \u4f60\u597d", ("\u6e29\u67d4", "\u4f60\u597d")),
        ("((warm))Hi", ("warm", "Hi")),
        ("(a (very) warm voice, slow)Hi (there)", ("a very warm voice, slow", "Hi (there)")),
        ("\uff08warm)Hi", ("warm", "Hi")),
        ("(A young woman, gentle and sweet voice) Hello", ("A young woman, gentle and sweet voice", "Hello")),
        ("(a 30 year old man) Hello", ("a 30 year old man", "Hello")),
        ("(a 70-year-old woman, slowly) Hello", ("a 70-year-old woman, slowly", "Hello")),
        ("(An old man. Deep voice, slow.)Hello", ("An old man. Deep voice, slow.", "Hello")),
        ("(someone who is very tired)Hello", ("someone who is very tired", "Hello")),
        ("(speak as if you were tired) Hello", ("speak as if you were tired", "Hello")),
        ("(whispering) Come here.", ("whispering", "Come here.")),
        ("(Sichuan dialect)Hello", ("Sichuan dialect", "Hello")),
        ("(\u56db\u5ddd\u8bdd)\u4f60\u597d", ("\u56db\u5ddd\u8bdd", "\u4f60\u597d")),
        ("(tiefe, ruhige Stimme) Guten Tag.", ("tiefe, ruhige Stimme", "Guten Tag.")),
    ],
)
def test_descriptions(text: str, expected: tuple[str, str]) -> None:
    assert split_control(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "(30 years) He waited that long.",
        "(the year of the flood) Nobody came.",
        "(She never came back.) The door stayed open all night.",
        "(It had rained for three days.)",
        "(Monday) We left.",
        "(for the third time) He knocked.",
        "(in the low light) Nobody moved.",
        "(her voice was low) She went on.",
        "(the voice of the sea) It called.",
        "(an old man) sat there.",
        "(deep water) It lay ahead.",
        "(Chapter One) It was dark.",
        "(un)able to speak",
        "(Re)building trust",
        "(s)he went",
        "(2) Second",
        "(555) 123-4567",
        "(a warm voice)",
        "(a warm voice) ...",
        "(warm",
        "()Hi",
        "Hi (warm)",
        "(\u4e00)\u5f15\u8a00",
        "\uff08\u5979\u518d\u4e5f\u6ca1\u6709\u56de\u6765\u3002\uff09\u95e8\u6574\u591c\u5f00\u7740\u3002",
        "(Sie kam nie zur\u00fcck.) Die T\u00fcr blieb offen.",
        "(Il avait plu.) La porte resta ouverte.",
        "",
    ],
)
def test_prose_in_brackets_is_not_a_description(text: str) -> None:
    assert split_control(text) == ("", text)


def test_a_description_that_names_a_voice_is_certain() -> None:
    assert is_certain("a warm voice")
    assert not is_certain("Sichuan dialects")


@pytest.mark.parametrize(
    ("own", "control", "expected"),
    [
        ("", "warm", "warm"),
        ("", "(warm)", "warm"),
        ("", "\uff08\uff08 warm \uff09\uff09", "warm"),
        ("", "[warm]", "warm"),
        ("", "((warm", "warm"),
        ("", '"warm"', "warm"),
        ("", None, ""),
        ("", " () ", ""),
        ("slow", "warm", "warm, slow"),
        ("\u6162", "\u6e29\u67d4", "\u6e29\u67d4\uff0c\u6162"),
        ("warm", "warm", "warm"),
    ],
)
def test_two_descriptions_are_joined(own: str, control: str | None, expected: str) -> None:
    assert described_by(own, control) == expected


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("(She never came back.) The door", "She never came back. The door"),
        ("(Monday) We left.", "Monday. We left."),
        ("(the third one) and left", "the third one, and left"),
        ("(Monday), we left", "Monday, we left"),
        ("(un)able", "unable"),
        ("(It had rained.)", "It had rained."),
        ("(2) Second", "(2) Second"),
        ("No (Monday)", "No (Monday)"),
    ],
)
def test_brackets_at_the_start_are_removed(text: str, spoken: str) -> None:
    assert without_leading_brackets(text) == spoken


@given(BRACKETED, BRACKETED)
def test_no_letter_is_lost(text: str, control: str) -> None:
    text = clean(text)
    own, body = split_control(text)
    assert letters(own) + letters(body) == letters(text)
    assert letters(without_leading_brackets(text)) == letters(text)
    assert len(own) <= MAX_DESCRIPTION
    assert not set(described_by(own, control)) & set("()\uff08\uff09")
    if own:
        assert compose(body, own) == f"({own}){body}"


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
