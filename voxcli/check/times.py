"""When each word of a text is heard, from the times of the heard words: for subtitles by word."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from voxcli.check.compare import Comparison
from voxcli.check.heard import HeardWord
from voxcli.jobs.result import Cue
from voxcli.text.scripts import UNSPACED

__all__ = ["word_times"]

# A word as it is shown, with its punctuation; in scripts without spaces a character with the marks after it.
_SHOWN = re.compile(rf"[{UNSPACED}][^\w\s]*|(?:(?![{UNSPACED}])\S)+")
Span = tuple[float, float]


def word_times(written: str, comparison: Comparison, heard: Sequence[HeardWord], end_s: float) -> list[Cue]:
    """Return a cue for each word of a clip's text, in seconds from the start of the clip.

    end_s: the end of the clip.

    A word that was not heard gets its share of the time between its neighbours.
    """
    shown = [match for match in _SHOWN.finditer(written) if any(map(str.isalnum, match[0]))]
    starts = [match.start() for match in shown]
    spans: list[Span | None] = [None] * len(shown)
    for place, span in _heard_places(comparison, heard):
        number = bisect_right(starts, place) - 1
        if number >= 0:
            before = spans[number]
            spans[number] = span if before is None else (min(before[0], span[0]), max(before[1], span[1]))
    letters = [len(match[0]) for match in shown]
    filled = _filled(spans, letters, end_s)
    return [Cue(round(start, 3), round(end, 3), match[0]) for match, (start, end) in zip(shown, filled, strict=True)]


def _heard_places(comparison: Comparison, heard: Sequence[HeardWord]) -> Iterator[tuple[int, Span]]:
    """Yield places in the text and when the word there was heard."""
    ends = list(accumulate(len(word.text) for word in heard))
    for step in comparison.steps:
        if step.kind in ("missing", "added"):
            continue
        words = [
            heard[min(bisect_right(ends, comparison.heard[number].place), len(heard) - 1)]
            for number in range(step.heard, step.heard_end)
        ]
        span = (words[0].start, words[-1].end)
        for number in range(step.wanted, step.wanted_end):
            yield comparison.wanted[number].place, span


def _filled(spans: Sequence[Span | None], letters: Sequence[int], end_s: float) -> list[Span]:
    """Return a span for each word, in order and without overlaps."""
    filled: list[Span] = []
    number = 0
    last = 0.0
    while number < len(spans):
        span = spans[number]
        if span is not None:
            start = max(last, span[0])
            last = max(start, span[1])
            filled.append((start, last))
            number += 1
            continue
        stop = number
        while stop < len(spans) and spans[stop] is None:
            stop += 1
        following = spans[stop] if stop < len(spans) else None
        until = max(last, end_s if following is None else following[0])
        shares = list(accumulate(letters[number:stop], initial=0))
        times = [last + (until - last) * share / shares[-1] for share in shares]
        filled += list(pairwise(times))
        last, number = until, stop
    return filled
