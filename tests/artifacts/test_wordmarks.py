from __future__ import annotations

from typing import Any

import pytest

from voxcli.artifacts.wordmarks import KINDS, word_marks

TEXT = "The old clock stopped."


@pytest.mark.parametrize(
    ("check", "marks"),
    [
        ({"missing": [[4, "old"]], "wer": 0.25}, [(4, 3, "missing")]),
        ({"changed": [[8, "clock"]], "missing": [(0, "The")]}, [(0, 3, "missing"), (8, 5, "changed")]),
        ({"repeated": [[22, "stopped"]]}, [(22, "stopped", "repeated")]),
        ({"added": [[4, "very"], [4, "very"]]}, [(4, "very very", "added")]),
        ({"added": [[8, "big"]], "changed": [[8, "clock"]]}, [(8, "big", "added"), (8, 5, "changed")]),
        (None, []),
        ({"missing": [], "added": None}, []),
    ],
)
def test_marks_of_words(check: dict[str, Any] | None, marks: list[tuple[Any, ...]]) -> None:
    assert [(start, size, KINDS[kind]) for start, size, kind in word_marks(TEXT, check)] == marks


def test_places_count_as_in_javascript() -> None:
    text = "Go \N{ROCKET} now \N{LATIN SMALL LETTER E WITH ACUTE}t\N{LATIN SMALL LETTER E WITH ACUTE}."
    check = {"missing": [[5, "now"]], "changed": [[9, "\N{LATIN SMALL LETTER E WITH ACUTE}t"]]}
    marks = [tuple(mark) for mark in word_marks(text, check)]
    units = text.encode("utf-16-le")
    assert [units[2 * start : 2 * (start + length)].decode("utf-16-le") for start, length, _ in marks] == ["now", "ét"]


@pytest.mark.parametrize(
    "places", ["old", 4, [4], [["old", 4]], [[4, ""]], [[99, "old"]], [[-1, "old"]], [[5, "old"]], [None], {"a": 1}]
)
def test_what_is_no_place_of_the_text_is_left_out(places: Any) -> None:
    assert word_marks(TEXT, {"missing": places}) == []
