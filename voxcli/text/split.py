"""Split a long text into segments that the model speaks well, each with the pause after it.

A segment ends at the end of a sentence if there is one within the limit, otherwise of a clause, otherwise between
words; inside a number, an abbreviation, an address or a word only if nothing else keeps the limit.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, replace

from voxcli.text.boundaries import Strength, boundaries
from voxcli.text.endings import CLOSERS, VERSE_END

__all__ = ["Segment", "split"]

# Seconds after a segment, by its end: about the pauses of an audiobook reader, minus the short silence that the model
# leaves at the end of a clip.
PARAGRAPH_PAUSE_S = 0.6
SENTENCE_PAUSE_S = 0.3
CLAUSE_PAUSE_S = 0.15
WORD_PAUSE_S = 0.05

_PARAGRAPH = re.compile(r"(?<!\s)\s*\n\s*\n\s*")  # matches at the first white space of a run, not at each
_SPACE = re.compile(r"\s*")
_CLAUSE_MARKS = frozenset(VERSE_END + ",;:-\u2014\uff0c\uff1b\uff1a\u3001\u060c\u061b\u104a")


@dataclass(frozen=True)
class Segment:
    """A part of a text.

    pause_s: seconds of silence after it when the segments are joined; 0 for the last.
    end:     strength of the cut at its end.
    """

    text: str
    pause_s: float
    end: Strength = Strength.SENTENCE


def split(text: str, max_chars: int) -> list[Segment]:
    """Split `text` into segments of at most `max_chars` characters, each as long as whole sentences allow.

    A blank line always ends a segment. Segments have no outer white space; together they are the text without the white
    space between them. Blank text has no segments. A segment may be all punctuation if that fills the limit. Raises
    ValueError for a limit below 1.
    """
    if max_chars < 1:
        raise ValueError(f"max_chars must be at least 1, not {max_chars}")
    text = text.strip()
    if len(text) <= max_chars and "\n" not in text:
        return [Segment(text, 0.0)] if text else []
    segments: list[Segment] = []
    for paragraph in _PARAGRAPH.split(text):
        parts = _cut(paragraph, max_chars)
        segments += [Segment(part, _pause_after(part), end) for part, end in parts[:-1]]
        segments += [Segment(part, PARAGRAPH_PAUSE_S) for part, _ in parts[-1:]]
    return [*segments[:-1], *(replace(segment, pause_s=0.0) for segment in segments[-1:])]


def _cut(text: str, max_chars: int) -> list[tuple[str, Strength]]:
    """Return the parts of one paragraph, each ending at the strongest boundary within the limit, with its strength."""
    if len(text) <= max_chars:
        return [(text, Strength.SENTENCE)] if text else []
    found = boundaries(text)
    places = {strength: [place for place, of in found.items() if of == strength] for strength in Strength}
    parts = []
    start = 0
    while len(text) - start > max_chars:
        end = _best(text, places, start, start + max_chars)
        parts.append((text[start:end].rstrip(), found.get(end, Strength.LETTERS)))
        start = _SPACE.match(text, end).end()  # type: ignore[union-attr]
    return [*parts, (text[start:], Strength.SENTENCE)] if start < len(text) else parts


def _best(text: str, places: dict[Strength, list[int]], start: int, reach: int) -> int:
    """Return the end of the part that begins at `start`: at least `start` + 1, at most `reach`."""
    sentences = places[Strength.SENTENCE]
    if (last := bisect_right(sentences, reach) - 1) >= 0 and sentences[last] > start:
        return sentences[last]
    # The sentence must be broken. Parts of similar length avoid a single word in the last.
    next_end = sentences[last + 1] if last + 1 < len(sentences) else len(text)
    parts = -(-(next_end - start) // (reach - start))
    aim = start + (next_end - start) / parts
    for strength in (Strength.CLAUSE, Strength.SPACE, Strength.LETTERS):
        here = places[strength]
        if inside := here[bisect_right(here, start) : bisect_right(here, reach)]:
            return min(inside, key=lambda place: abs(place - aim))
    # A word longer than the limit: keep letters and their accents together if possible.
    end = reach
    while end > start + 1 and (unicodedata.category(text[end])[0] == "M" or text[end] in "\u200c\u200d"):
        end -= 1
    return end if end > start + 1 else reach


def _pause_after(part: str) -> float:
    mark = part.rstrip(CLOSERS)[-1:]
    if mark in _CLAUSE_MARKS:
        return CLAUSE_PAUSE_S
    return WORD_PAUSE_S if mark.isalnum() else SENTENCE_PAUSE_S
