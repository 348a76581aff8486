"""Each word of a text gets its time, also words that were not heard."""

from __future__ import annotations

from itertools import pairwise

from voxcli.check.compare import compare
from voxcli.check.heard import HeardWord
from voxcli.check.times import word_times
from voxcli.jobs.result import Cue


def heard(*words: tuple[float, float, str]) -> list[HeardWord]:
    return [HeardWord(start, end, f" {word}") for start, end, word in words]


def times(text: str, words: list[HeardWord], end_s: float = 3.0, language: str = "en") -> list[Cue]:
    return word_times(text, compare(text, "".join(word.text for word in words), frozenset({language})), words, end_s)


def test_words_that_were_heard() -> None:
    words = heard((0.1, 0.4, "The"), (0.5, 0.9, "clock,"), (1.0, 1.5, "stopped."))
    assert times("The clock \u2013 stopped!", words) == [(0.1, 0.4, "The"), (0.5, 0.9, "clock"), (1.0, 1.5, "stopped!")]


def test_a_missing_word_lies_between_its_neighbours() -> None:
    words = heard((0.1, 0.4, "The"), (1.0, 1.5, "stopped"))
    assert times("The old clock stopped", words) == [
        (0.1, 0.4, "The"),
        (0.4, 0.625, "old"),
        (0.625, 1.0, "clock"),
        (1.0, 1.5, "stopped"),
    ]


def test_missing_words_at_the_ends() -> None:
    words = heard((1.0, 1.4, "clock"))
    assert times("The clock stopped", words, 2.0) == [(0.0, 1.0, "The"), (1.0, 1.4, "clock"), (1.4, 2.0, "stopped")]


def test_nothing_heard() -> None:
    assert times("ab cd", [], 2.0) == [(0.0, 1.0, "ab"), (1.0, 2.0, "cd")]
    assert times("...", [], 2.0) == []


def test_a_number_lasts_as_long_as_its_words() -> None:
    words = heard((0.0, 0.2, "Pay"), (0.2, 0.5, "twenty"), (0.5, 0.8, "four"), (0.8, 1.2, "dollars"))
    assert times("Pay $24.", words) == [(0.0, 0.2, "Pay"), (0.2, 1.2, "$24.")]


def test_words_written_together_share_their_time() -> None:
    words = heard((0.0, 1.0, "everyone"), (1.0, 2.0, "else"))
    assert times("every one else", words) == [(0.0, 1.0, "every"), (1.0, 1.0, "one"), (1.0, 2.0, "else")]


def test_times_never_overlap() -> None:
    words = heard((0.0, 0.6, "a"), (0.5, 0.9, "b"), (0.7, 0.8, "c"))
    found = times("a b c", words)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_characters_of_chinese() -> None:
    words = [HeardWord(0.0, 0.3, "\u4eca\u5929"), HeardWord(0.3, 0.6, "\u597d")]
    assert times("\u4eca\u5929\u597d\u3002", words, language="zh") == [
        (0.0, 0.3, "\u4eca"),
        (0.3, 0.3, "\u5929"),
        (0.3, 0.6, "\u597d\u3002"),
    ]
