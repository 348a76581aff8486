from __future__ import annotations

import pytest

from voxcli.text.notemarks import drop_note_marks


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("It stood for years.[1] In the flood", "It stood for years. In the flood", 1),
        ("into the river.[2][3] The council", "into the river. The council", 2),
        ("word.[12]", "word.", 1),
        ("years.[1]In the flood", "years. In the flood", 1),
        ("as many say[4, 7\u20139] and", "as many say and", 1),
        ("in stone [12].", "in stone.", 1),
        ("a claim[citation needed] and", "a claim and", 1),
        ("a claim [citation needed].", "a claim.", 1),
        ("It is[^1] so.", "It is so.", 1),
        ("years.[1](#fn1) In", "years. In", 1),
        ("[12] A note", "A note", 1),
        ("text\u00b9\u00b2 goes on.\u00b3", "text goes on.", 2),
        ("as was said.\u2020 Then", "as was said. Then", 1),
        ("vitamins[a] are", "vitamins are", 1),
    ],
)
def test_note_marks_are_removed(text: str, expected: str, count: int) -> None:
    assert drop_note_marks(text) == (expected, count)


@pytest.mark.parametrize(
    "text",
    [
        "x[1] = 3",
        "[laughing] Well, [sigh] no.",
        "Press [1] for help",
        "house[s] and row[0]",
        "5 m\u00b2, 3 km\u00b2, sin\u00b2 x, E=mc\u00b2",
        "values[2] = 3",
    ],
)
def test_other_brackets_and_powers_stay(text: str) -> None:
    assert drop_note_marks(text) == (text, 0)
