"""Compare what was heard with the text: error rates, and the missing, repeated and added words by place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from voxcli.check.align import Step, align, distance
from voxcli.check.words import Word, words_of

__all__ = ["MIN_LETTERS", "Comparison", "ErrorRun", "Place", "compare", "error_runs"]

# Words in a row of which the recognizer heard fewer letters than this of the text, or more, were left out or added.
MIN_LETTERS = 4


class Place(NamedTuple):
    """A word and the index of its first character in the text, or of the word before which it was heard."""

    place: int
    word: str


@dataclass(frozen=True)
class Comparison:
    """What was heard, compared with the text.

    wanted:   the words of the text.
    heard:    the words that were heard.
    steps:    the alignment of both.
    wer, cer: word and character error rate: errors per word and per character of the text.
    missing:  words that were not heard.
    repeated: words that were heard twice in a row, by the place after which they were repeated.
    added:    other words that are not in the text.
    changed:  words of the text in whose place another one was heard.
    """

    wanted: tuple[Word, ...]
    heard: tuple[Word, ...]
    steps: tuple[Step, ...]
    wer: float
    cer: float
    missing: tuple[Place, ...]
    repeated: tuple[Place, ...]
    added: tuple[Place, ...]
    changed: tuple[Place, ...]

    @property
    def errors(self) -> int:
        return sum(step.kind != "same" for step in self.steps)


class ErrorRun(NamedTuple):
    """Wanted words [wanted, wanted_end) in whose place heard words [heard, heard_end) were heard: not one is the same.

    more_letters: of the heard words than of the wanted ones.
    """

    wanted: int
    wanted_end: int
    heard: int
    heard_end: int
    more_letters: int


def error_runs(comparison: Comparison) -> Iterator[ErrorRun]:
    """Yield the errors, those side by side as one."""
    for same, run in groupby(comparison.steps, key=lambda step: step.kind == "same"):
        if same:
            continue
        steps = list(run)
        first, last = steps[0], steps[-1]
        wanted, heard = slice(first.wanted, last.wanted_end), slice(first.heard, last.heard_end)
        letters = [
            sum(len(word.key) for word in words) for words in (comparison.heard[heard], comparison.wanted[wanted])
        ]
        yield ErrorRun(first.wanted, last.wanted_end, first.heard, last.heard_end, letters[0] - letters[1])


def compare(
    text: str, heard_text: str, languages: frozenset[str] = frozenset(), *, spoken: str | None = None
) -> Comparison:
    """Compare a transcript with the text that was to be spoken.

    languages: those that the text can be in.
    spoken:    the text as it was spoken, for example with the words of a lexicon; places are still those in `text`.

    >>> compare("The old clock stopped.", "The clock stopped, stopped.").missing
    (Place(place=4, word='old'),)
    """
    wanted, heard = words_of(text, languages, spoken), words_of(heard_text, languages)
    wanted_keys, heard_keys = [word.key for word in wanted], [word.key for word in heard]
    steps = align(wanted_keys, heard_keys)
    errors = sum(step.kind != "same" for step in steps)
    letters = "".join(wanted_keys)
    repeated, added = _added(steps, wanted, heard, len(text))
    return Comparison(
        wanted=tuple(wanted),
        heard=tuple(heard),
        steps=tuple(steps),
        wer=errors / max(1, len(wanted)),
        cer=distance(letters, "".join(heard_keys)) / max(1, len(letters)),
        missing=_places(wanted, steps, "missing"),
        repeated=repeated,
        added=added,
        changed=_places(wanted, steps, "changed"),
    )


def _places(wanted: Sequence[Word], steps: Sequence[Step], kind: str) -> tuple[Place, ...]:
    """Return the words of one kind; a number, of which several words may be wrong, once."""
    return tuple(dict.fromkeys(Place(*wanted[step.wanted][1:]) for step in steps if step.kind == kind))


def _added(
    steps: Sequence[Step], wanted: Sequence[Word], heard: Sequence[Word], end: int
) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
    """Return repeated words and other added words. A run of added words that equals the words beside it is repeated."""
    repeated: list[Place] = []
    added: list[Place] = []
    keys = [word.key for word in heard]
    number = 0
    while number < len(steps):
        if steps[number].kind != "added":
            number += 1
            continue
        last = number
        while last + 1 < len(steps) and steps[last + 1].kind == "added":
            last += 1
        first, stop = steps[number].heard, steps[last].heard_end
        place = wanted[steps[number].wanted].place if steps[number].wanted < len(wanted) else end
        run = [Place(place, heard[index].text) for index in range(first, stop)]
        (repeated if _is_repeated(keys, first, stop) else added).extend(run)
        number = last + 1
    return tuple(repeated), tuple(added)


def _is_repeated(keys: Sequence[str], first: int, stop: int) -> bool:
    size, run = stop - first, list(keys[first:stop])
    before, after = list(keys[max(0, first - size) : first]), list(keys[stop : stop + size])
    return run in (before, after)
