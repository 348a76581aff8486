"""The alignment has the minimum number of errors."""

from __future__ import annotations

import random

import pytest

from voxcli.check import align as module
from voxcli.check.align import align, distance


def kinds(wanted: str, heard: str) -> list[str]:
    return [step.kind for step in align(wanted.split(), heard.split())]


@pytest.mark.parametrize(
    ("wanted", "heard", "expected"),
    [
        ("a b c", "a b c", "same same same"),
        ("a b c", "a c", "same missing same"),
        ("a c", "a b c", "same added same"),
        ("a b c", "a x c", "same changed same"),
        ("every one else", "everyone else", "same same"),
        ("everyone else", "every one else", "same same"),
        ("a", "", "missing"),
        ("", "a", "added"),
        ("", "", ""),
        ("the old clock", "the cold", "same changed missing"),
    ],
)
def test_steps(wanted: str, heard: str, expected: str) -> None:
    assert " ".join(kinds(wanted, heard)) == expected


def test_words_written_together_are_one_step() -> None:
    assert align(["every", "one"], ["everyone"]) == [("same", 0, 2, 0, 1)]
    assert align(["everyone"], ["every", "one"]) == [("same", 0, 1, 0, 2)]


def _slow(wanted: str, heard: str) -> int:
    """The textbook recursion."""
    table = list(range(len(heard) + 1))
    for i, one in enumerate(wanted, 1):
        diagonal, table[0] = table[0], i
        for j, other in enumerate(heard, 1):
            diagonal, table[j] = table[j], min(table[j] + 1, table[j - 1] + 1, diagonal + (one != other))
    return table[-1]


@pytest.mark.parametrize("seed", range(20))
def test_the_number_of_errors_is_the_edit_distance(seed: int) -> None:
    draw = random.Random(seed)
    wanted, heard = ("".join(draw.choices("abcd", k=draw.randrange(12))) for _ in range(2))
    expected = _slow(wanted, heard)
    assert distance(wanted, heard) == expected
    steps = align(list(wanted), list(heard))
    assert sum(step.kind != "same" for step in steps) == expected
    assert [place for step in steps for place in range(step.wanted, step.wanted_end)] == list(range(len(wanted)))
    assert [place for step in steps for place in range(step.heard, step.heard_end)] == list(range(len(heard)))


def test_long_texts_are_aligned_by_their_common_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CELLS", 4)
    assert kinds("a b c d", "a x c d e") == ["same", "changed", "same", "same", "added"]
    assert kinds("a b c", "a c") == ["same", "missing", "same"]
