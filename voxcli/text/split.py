"""Long text -> pieces the model speaks well, each with the pause that belongs after it.

Cut at the end of a sentence when there is one within the bound, else of a clause, else between words; never inside a
number, an abbreviation, an address or a word, unless nothing else keeps the bound.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, replace

from voxcli.text.boundaries import Strength, boundaries
from voxcli.text.endings import CLOSERS, VERSE_END

__all__ = ["Segment", "split"]

# Seconds after a piece, by what it ends with: about what a reader of audiobooks leaves, less the little silence that
# the model itself puts at the end of a clip.
PARAGRAPH_PAUSE_S = 0.6
SENTENCE_PAUSE_S = 0.3
CLAUSE_PAUSE_S = 0.15
WORD_PAUSE_S = 0.05

_PARAGRAPH = re.compile(r"(?<!\s)\s*\n\s*\n\s*")  # from the first white space on, and not from each
_SPACE = re.compile(r"\s*")
_CLAUSE_MARKS = frozenset(VERSE_END + ",;:-\u2014\uff0c\uff1b\uff1a\u3001\u060c\u061b\u104a")


@dataclass(frozen=True)
class Segment:
    """A part of a text.

    pause_s: seconds of silence after it when the pieces are joined, 0 for the last.
    end:     how good a place it was to cut at.
    """

    text: str
    pause_s: float
    end: Strength = Strength.SENTENCE


def split(text: str, max_chars: int) -> list[Segment]:
    """Split `text` into pieces of at most `max_chars` characters, each as long as whole sentences allow.

    A blank line always ends a piece. The pieces have no white space around them; joined, they give the text back up
    to the white space between them. Blank text gives no piece. A piece can be without a letter where marks alone
    fill the bound. Raises ValueError for a bound below 1.
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
    """The parts of one paragraph, each ending at the strongest kind of boundary in reach, and that."""
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
    """Where to end the part that begins at `start`: after it, `reach` at most."""
    sentences = places[Strength.SENTENCE]
    if (last := bisect_right(sentences, reach) - 1) >= 0 and sentences[last] > start:
        return sentences[last]
    # The sentence must be broken: into parts of about one length, so that no single word is left over for the last.
    next_end = sentences[last + 1] if last + 1 < len(sentences) else len(text)
    parts = -(-(next_end - start) // (reach - start))
    aim = start + (next_end - start) / parts
    for strength in (Strength.CLAUSE, Strength.SPACE, Strength.LETTERS):
        here = places[strength]
        if inside := here[bisect_right(here, start) : bisect_right(here, reach)]:
            return min(inside, key=lambda place: abs(place - aim))
    # One endless word: keep letters and their accents together where that leaves anything.
    end = reach
    while end > start + 1 and (unicodedata.category(text[end])[0] == "M" or text[end] in "\u200c\u200d"):
        end -= 1
    return end if end > start + 1 else reach


def _pause_after(part: str) -> float:
    mark = part.rstrip(CLOSERS)[-1:]
    if mark in _CLAUSE_MARKS:
        return CLAUSE_PAUSE_S
    return WORD_PAUSE_S if mark.isalnum() else SENTENCE_PAUSE_S
