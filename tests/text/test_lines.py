from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxcli.text.clean import read_text
from voxcli.text.endings import SCENE, punctuate_line_ends, written


def spoken(text: str) -> str:
    return punctuate_line_ends(read_text(text)).replace(SCENE, "(scene)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You need:\n- two eggs\n- milk\n- a pan", "You need: two eggs; milk; a pan"),
        ("* One\n* Two", "One. Two"),
        ("1. Milk\n2. Eggs", "1. Milk. 2. Eggs"),
        ("- a long item that\n  goes on\n- next", "a long item that goes on; next"),
        ("| a | b |\n|---|---|\n| c | d |", "a, b; c, d"),
        ("# Chapter One\nIt was dark.", "Chapter One\n\nIt was dark."),
        ("Chapter One\n===========\nIt was dark.", "Chapter One\n\nIt was dark."),
        ("line one<br>line two", "line one, line two"),
    ],
)
def test_items_and_headings_end_with_their_lines(text: str, expected: str) -> None:
    assert spoken(text) == expected


def test_verses_end_with_their_lines() -> None:
    poem = "The lamp went out\nAnd no one knew\nWhat it was all about"
    assert spoken(poem) == "The lamp went out, And no one knew, What it was all about"
    assert written(read_text(poem)) == poem.replace("\n", " ")
    assert spoken("\u5e8a\u524d\u660e\u6708\u5149\n\u7591\u662f\u5730\u4e0a\u971c") == (
        "\u5e8a\u524d\u660e\u6708\u5149\uff0c\u7591\u662f\u5730\u4e0a\u971c"
    )


def test_a_wrapped_line_continues() -> None:
    text = "The old bridge was built of stone and it stood\nfor years. Everybody knew it and nobody thought of\nMary."
    assert spoken(text) == text.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The keeper was an exam-\nple to all who re-\nmembered the light-\nhouse.",
            "an example to all who remembered",
        ),
        ("A well-\nknown man", "A well-known man"),
        ("a co-op and a co-\nop", "a co-op and a co-op"),
        ("mother-in-\nlaw", "mother-in-law"),
        ("Jean-\nPaul", "Jean-Paul"),
        ("1990-\n95", "1990-95"),
        ("soft\u00ad\nened", "softened"),
        ("Donau\u2010\ndampfschiff", "Donaudampfschiff"),
        ("he waited -\nand went", "he waited - and went"),
    ],
)
def test_words_broken_at_a_line_end_are_joined(text: str, expected: str) -> None:
    assert expected in spoken(text)


@pytest.mark.parametrize("scene", ["* * *", "***", "---", "\u2026", "\U0001f30a \U0001f30a", "#", "\u2042", "~ ~ ~"])
def test_a_paragraph_without_a_word_is_a_scene_break(scene: str) -> None:
    assert spoken(f"It was dark.\n\n{scene}\n\nThen came the day.") == "It was dark.\n\n(scene)\n\nThen came the day."


@given(st.text(st.sampled_from(list("aB1 -.,\n#*>|[]\u597d\u00ad")), max_size=60))
def test_no_letter_is_lost_at_the_end_of_a_line(text: str) -> None:
    kept = "".join(filter(str.isalpha, text))
    assert "".join(filter(str.isalpha, spoken(text).replace("(scene)", ""))) == kept
