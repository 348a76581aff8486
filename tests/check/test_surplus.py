"""Speech that the heard words do not account for is found, and what is heard in it alone joins them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check.test_verdict import FINE
from voxcli.check.compare import compare
from voxcli.check.heard import RATE, HeardWord, Samples
from voxcli.check.surplus import LETTER_S, MAX_TIMES, WORD_S, Surplus, all_words, find_surplus, with_surplus
from voxcli.check.verdict import ClipCheck, Limits, reasons

ENGLISH = frozenset({"en"})
TEXT = "The teacher wrote the answer on the board."


def speech(seconds: float) -> Samples:
    return (0.2 * np.sin(np.arange(round(seconds * RATE)) / 3)).astype(np.float32)


def spoken(
    text: str, pace: float = 1.0, longer: dict[str, float] | None = None, pauses: dict[str, float] | None = None
) -> tuple[tuple[HeardWord, ...], Samples]:
    """Return words at an even pace and their clip. longer, pauses: seconds by the word that has them at its end."""
    words: list[HeardWord] = []
    parts: list[Samples] = []
    now = 0.0
    for word in text.split():
        seconds = pace * (WORD_S + LETTER_S * sum(map(str.isalnum, word))) + (longer or {}).get(word, 0.0)
        pause = (pauses or {}).get(word, 0.0)
        parts += [speech(seconds), np.zeros(round(pause * RATE), np.float32)]
        words.append(HeardWord(now, now + seconds + pause, f" {word}"))
        now += seconds + pause
    return tuple(words), np.concatenate(parts)


def text_of(words: tuple[HeardWord, ...]) -> str:
    return "".join(word.text for word in words).strip()


@pytest.mark.parametrize("pace", [0.6, 1.0, 1.3])
def test_speech_at_an_even_pace_is_explained(pace: float) -> None:
    assert find_surplus(*spoken(TEXT, pace), ENGLISH) is None


def test_words_that_last_too_long_are_found() -> None:
    words, samples = spoken(TEXT, longer={"answer": 0.3, "on": 0.4})
    found = find_surplus(words, samples, ENGLISH)
    assert found is not None
    assert {4, 5} <= set(range(found.first, found.end)), "answer on"
    assert (found.start_s, found.end_s) == (words[found.first].start, words[5].end)
    assert found.seconds == pytest.approx(0.7, abs=0.03)


def test_a_text_spoken_twice_as_a_whole_is_found() -> None:
    assert find_surplus(*spoken("Good luck.", pace=2.1), ENGLISH) is not None


def test_a_pause_takes_no_letters() -> None:
    assert find_surplus(*spoken(TEXT, pauses={"wrote": 1.0}), ENGLISH) is None


def test_a_number_takes_as_long_as_its_words() -> None:
    pytest.importorskip("wetext")
    words, samples = spoken("In 1969 two men walked on the moon.", longer={"1969": 0.5})
    assert find_surplus(words, samples, ENGLISH) is None, "nineteen sixty nine"


def test_nothing_heard() -> None:
    assert find_surplus((), speech(1.0), ENGLISH) is None


# What Whisper tiny.en wrote for clips of the demo voice: the whole, the words that lasted too long, and these alone.
@pytest.mark.parametrize(
    ("whole", "first", "end", "seconds", "alone", "reason"),
    [
        (TEXT, 5, 8, 0.41, "or on the answer on the board.", "words are added: the or on"),
        (
            "We planted an oak tree when my sister was born.",
            *(8, 10, 0.72, "when my sister was born.", "words are repeated: when my"),
        ),
        (
            "Her office is on the 4th floor next to the elevator.",
            *(8, 11, 0.64, "fourth floor next to the elevator.", "words are repeated: 4th floor"),
        ),
        (
            "The soup tastes better when you add a little lemon.",
            *(3, 6, 0.52, "better when you add better when you add", "words are repeated: better when you add"),
        ),
        (
            "The little bakery on the corner opens before sunrise.",
            *(6, 9, 1.05, "Opens becorner opens before sunrise.", "words are added: Opens becorner"),
        ),
        (
            "Nobody noticed that the clock had stopped.",
            *(5, 6, 0.40, "Just that the clock had", "words are added: that the clock"),
        ),
        (
            "What time does the concert start tonight?",
            *(5, 7, 0.54, "Just a concert start tonight.", "words are added: Just a"),
        ),
    ],
)
def test_what_is_heard_alone_joins_the_words(
    whole: str, first: int, end: int, seconds: float, alone: str, reason: str
) -> None:
    words, _ = spoken(whole)
    assert reasons(ClipCheck(FINE, compare(whole, text_of(words), ENGLISH)), Limits()) == []
    surplus = Surplus(first, end, words[first].start, words[end - 1].end, seconds)
    found = with_surplus(words, surplus, spoken(alone)[0], ENGLISH)
    assert reasons(ClipCheck(FINE, compare(whole, text_of(found), ENGLISH)), Limits()) == [reason]


@pytest.mark.parametrize(
    "alone",
    [
        "on the board.",
        "answer on the board.",  # the word beside it is heard as well
        "Sir on the board.",
        "answer on the",
        "bored.",
        "",
        "Someone the board.",  # misheard
        "You're on the board.",  # half a word, heard as another one
        "on the board. Thank",
        "on the board. Board",  # completed
    ],
)
def test_a_word_at_the_cut_and_a_misheard_one_add_nothing(alone: str) -> None:
    words, _ = spoken(TEXT)
    surplus = Surplus(5, 8, words[5].start, words[7].end, 0.4)
    found = with_surplus(words, surplus, spoken(alone)[0] if alone else (), ENGLISH)
    assert reasons(ClipCheck(FINE, compare(TEXT, text_of(found), ENGLISH)), Limits()) == []


def test_words_that_are_heard_alone_have_their_times_in_the_clip() -> None:
    words, _ = spoken(TEXT)
    alone, _ = spoken("on the answer on the board.")
    found = with_surplus(words, Surplus(5, 8, 2.0, 3.0, 0.6), alone, ENGLISH)
    assert text_of(found) == "The teacher wrote the on the answer on the board."
    assert found[4] == HeardWord(2.0, round(2.0 + alone[0].end, 3), " on")


def test_smaller_and_smaller_parts_are_listened_to() -> None:
    words, samples = spoken(TEXT, longer={"answer": 0.2, "on": 0.6, "the": -0.05})
    parts: list[float] = []

    def listen(part: Samples) -> tuple[HeardWord, ...]:
        parts.append(len(part) / RATE)
        first = HeardWord(0.0, 0.2, " the"), HeardWord(0.2, 0.4, " answer"), HeardWord(0.4, parts[0], " on")
        return first if len(parts) == 1 else spoken("answer on the answer on")[0]

    found = all_words(words, samples, ENGLISH, listen)
    assert [place.word for place in compare(TEXT, text_of(found), ENGLISH).added] == ["answer", "on"]
    assert parts == pytest.approx([1.24, 1.24 - 0.4], abs=0.01)


def test_listening_ends_when_nothing_more_is_heard() -> None:
    words, samples = spoken(TEXT, longer={"on": 0.6})
    calls: list[int] = []

    def listen(part: Samples) -> tuple[HeardWord, ...]:
        calls.append(len(part))
        return (HeardWord(0.0, len(part) / RATE, " on"),)

    assert all_words(words, samples, ENGLISH, listen) == words
    assert 3 <= len(calls) <= MAX_TIMES + 2, "the part, smaller ones, and two halves"


def test_halves_are_listened_to_if_a_large_surplus_is_left() -> None:
    words, samples = spoken(TEXT, longer={"on": 0.8, "answer": -0.05, "the": -0.05})
    parts: list[int] = []

    def listen(part: Samples) -> tuple[HeardWord, ...]:
        parts.append(len(part))
        return spoken("answer on")[0] if len(parts) > 1 else (HeardWord(0.0, len(part) / RATE, " on"),)

    found = all_words(words, samples, ENGLISH, listen)
    assert text_of(found) == "The teacher wrote the answer on answer on the board."
    assert len(parts) == 3 and parts[0] == parts[1] + parts[2]


def test_what_nobody_can_speak_so_fast_is_not_believed() -> None:
    words, samples = spoken(TEXT, longer={"on": 0.4})

    def listen(part: Samples) -> tuple[HeardWord, ...]:
        return spoken("on the answer " * 20)[0]

    assert all_words(words, samples, ENGLISH, listen) == words


def test_a_clip_without_surplus_is_listened_to_once() -> None:
    words, samples = spoken(TEXT)

    def listen(part: Samples) -> tuple[HeardWord, ...]:
        raise AssertionError("nothing is to be heard again")

    assert all_words(words, samples, ENGLISH, listen) == words
