"""Find speech of a clip that the heard words do not account for, and listen to it alone.

A recognizer sometimes writes a phrase that is spoken twice only once: its decoder avoids repeating itself. Then the
words there last longer than their letters take at the pace of the clip. Heard alone, without the rest of the sentence,
that part shows what else is spoken in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, product
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voxcli.audio.levels import active_level, frame_rms, quietest_place
from voxcli.check.compare import MIN_LETTERS, Comparison, compare, error_runs
from voxcli.check.heard import RATE, HeardWord, Samples
from voxcli.check.verdict import LETTERS_PER_S
from voxcli.check.words import Word, words_of
from voxcli.text.duration import LETTER_S as SHORTEST_LETTER_S
from voxcli.text.duration import shortest_seconds

__all__ = ["Surplus", "all_words", "find_surplus", "with_surplus"]

FRAME_S = 0.01
PAUSE = 10 ** (-25 / 20)  # relative to the level of the speech; what is quieter is a pause, which takes no letters
# Seconds of a word and of each of its letters, fitted to 180 clips of the demo voice. Its own pace scales both.
WORD_S, LETTER_S = 0.154, 0.017
MAX_PACE = 1.3  # of a clip: half of its words may be spoken twice
MAX_TIMES = 3  # that smaller and smaller parts are listened to
# Where a part is cut, half a word may be heard as a whole one or another one. No half word makes a larger surplus.
CUT_WORD_S = 0.5
FEW_WORDS = 4  # by chance it grows with the root of the number of words above this
MIN_SURPLUS_S = 0.25  # the shortest words of four letters last as long


Listen = Callable[[Samples], tuple[HeardWord, ...]]


class Surplus(NamedTuple):
    """Words [first, end) are spoken from `start_s` to `end_s`, which is `seconds` longer than their letters take."""

    first: int
    end: int
    start_s: float
    end_s: float
    seconds: float

    def of(self, samples: Samples) -> Samples:
        """Return this part of float32[n] at RATE Hz."""
        return samples[round(self.start_s * RATE) : round(self.end_s * RATE)]


def all_words(
    words: tuple[HeardWord, ...], samples: Samples, languages: frozenset[str], listen: Listen
) -> tuple[HeardWord, ...]:
    """Return the words heard in float32[n] at RATE Hz, with those that are heard only in its surplus alone.

    words:     heard in the whole.
    languages: those that they can be in.
    listen:    hears a part.
    """
    surplus = find_surplus(words, samples, languages)
    if surplus is None:
        return words
    part = surplus.of(samples)
    found = with_surplus(words, surplus, _alone(part, languages, listen, MAX_TIMES), languages)
    if found == words and surplus.seconds >= CUT_WORD_S:
        found = with_surplus(words, surplus, _halves(part, listen), languages)
    return found


def _alone(samples: Samples, languages: frozenset[str], listen: Listen, times: int) -> tuple[HeardWord, ...]:
    """Listen to a part, and to the part of it that is still a surplus. times: how often, at most."""
    words = _plausible(listen(samples), samples)
    surplus = find_surplus(words, samples, languages)
    if times == 1 or surplus is None or len(part := surplus.of(samples)) == len(samples):
        return words
    return with_surplus(words, surplus, _alone(part, languages, listen, times - 1), languages)


def _halves(samples: Samples, listen: Listen) -> tuple[HeardWord, ...]:
    """Listen to both halves alone: a phrase that is spoken twice is in each of them once."""
    place = quietest_place(samples, RATE, len(samples) // 3, 2 * len(samples) // 3)
    halves = samples[:place], samples[place:]
    first, second = (_plausible(listen(half), half) for half in halves)
    return (*first, *(_moved(word, place / RATE) for word in second))


def _plausible(words: tuple[HeardWord, ...], samples: Samples) -> tuple[HeardWord, ...]:
    """Return the words, or none if nobody speaks that fast: in half a sentence a recognizer may repeat itself."""
    letters = sum(map(str.isalnum, _text(words)))
    return words if letters * RATE <= LETTERS_PER_S[1] * len(samples) else ()


def find_surplus(words: Sequence[HeardWord], samples: Samples, languages: frozenset[str]) -> Surplus | None:
    """Return the words with the most speech that their letters do not explain; None if all is explained."""
    if not words:
        return None
    edges = [0.0, *(word.end for word in words[:-1]), len(samples) / RATE]
    spoken = np.diff(np.interp(edges, *_speech(samples)))
    usual = np.array([_usual_seconds(word.text, languages) for word in words])
    pace = min(MAX_PACE, median(spoken / usual))
    # the run of words with the largest sum, by the differences of sums from the start
    sums = np.concatenate(([0.0], np.cumsum(spoken - pace * usual)))
    lowest = np.minimum.accumulate(sums)
    end = int(np.argmax(sums - lowest))
    first = int(np.argmin(sums[: end + 1]))
    seconds = float(sums[end] - sums[first])
    return Surplus(first, end, edges[first], edges[end], seconds) if seconds >= MIN_SURPLUS_S else None


def _usual_seconds(text: str, languages: frozenset[str]) -> float:
    """Return how long a heard word takes at the usual pace; a number as long as its words."""
    keys = [word.key for word in words_of(text, languages)]
    return max(WORD_S, sum(WORD_S + LETTER_S * shortest_seconds(key) / SHORTEST_LETTER_S for key in keys))


def _speech(samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return places in seconds and how many seconds of speech there are before each."""
    levels = frame_rms(samples, RATE, FRAME_S)
    loud = (levels > active_level(levels) * PAUSE).astype(np.float64)
    places = np.arange(len(levels) + 1, dtype=np.float64)
    return places * FRAME_S, np.concatenate(([0.0], np.cumsum(loud) * FRAME_S))


def with_surplus(
    words: Sequence[HeardWord], surplus: Surplus, alone: Sequence[HeardWord], languages: frozenset[str]
) -> tuple[HeardWord, ...]:
    """Return the words of a clip with those that are heard only when the surplus is heard alone.

    alone: what is heard in it, in seconds from its start. A word beside it may be heard in it as well.
    """
    fit = _best_fit(words, surplus, alone, languages)
    own, heard = _indexes(fit.compared.wanted, words[fit.first : fit.end]), _indexes(fit.compared.heard, fit.alone)
    found = list(words[: fit.first])
    place = fit.first
    for run in error_runs(fit.compared):
        if run.more_letters >= MIN_LETTERS:
            found += words[place : fit.first + own[run.wanted]]
            found += (_moved(word, surplus.start_s) for word in fit.alone[heard[run.heard] : heard[run.heard_end]])
            place = fit.first + own[run.wanted_end]
    return (*found, *words[place:])


class _Fit(NamedTuple):
    """A comparison of words [first, end) with what is heard alone.

    errors: of words, or of letters.
    lost:   words that were taken in or left out so that it fits.
    """

    errors: int
    lost: int
    first: int
    end: int
    alone: Sequence[HeardWord]
    compared: Comparison


def _best_fit(
    words: Sequence[HeardWord], surplus: Surplus, alone: Sequence[HeardWord], languages: frozenset[str]
) -> _Fit:
    """Compare with the words of the surplus, and with those beside it if that fits better.

    A small surplus may be half a word at its cuts: then what is heard there counts only if it fits, by its letters.
    """
    fits: list[_Fit] = []
    small = surplus.seconds < CUT_WORD_S * max(1.0, (surplus.end - surplus.first) / FEW_WORDS) ** 0.5
    sides = ((0, 0), (1, 0), (0, 1)) if small else ((0, 0), (1, 0))  # words taken in and left out
    for (before, first_cut), (after, last_cut) in product(sides, sides):
        first, end = max(0, surplus.first - before), min(len(words), surplus.end + after)
        part = alone[first_cut : max(0, len(alone) - last_cut)]
        compared = compare(_text(words[first:end]), _text(part), languages)
        letters = round(compared.cer * max(1, sum(len(word.key) for word in compared.wanted)))
        lost = (end - first) - (surplus.end - surplus.first) + len(alone) - len(part)
        fits.append(_Fit(letters if small else compared.errors, lost, first, end, part, compared))
    return min(fits, key=lambda fit: fit[:2])


def _text(words: Sequence[HeardWord]) -> str:
    return "".join(word.text for word in words)


def _indexes(compared: Sequence[Word], words: Sequence[HeardWord]) -> list[int]:
    """Return for each compared word, and for their end, the index of the heard word that it is in."""
    ends = list(accumulate(len(word.text) for word in words))
    return [*(bisect_right(ends, word.place) for word in compared), len(words)]


def _moved(word: HeardWord, seconds: float) -> HeardWord:
    return HeardWord(round(seconds + word.start, 3), round(seconds + word.end, 3), word.text)
