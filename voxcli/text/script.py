"""From a written text to its spoken form: segments that a model speaks well, and the silence between them.

    text -> read_text (clean) -> description | words -> passages between pauses -> segments -> their spoken form

Each segment also keeps its written form, for subtitles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from voxcli.errors import InputError, shortened
from voxcli.text.boundaries import Strength
from voxcli.text.characters import is_plain
from voxcli.text.clean import clean, is_speakable, read_text
from voxcli.text.description import (
    MAX_DESCRIPTION,
    compose,
    described_by,
    is_certain,
    split_control,
    without_leading_brackets,
)
from voxcli.text.endings import (
    SCENE,
    SENTENCE_END,
    VERSE_END,
    continued,
    finish,
    punctuate_line_ends,
    written,
    written_lines,
)
from voxcli.text.guess import NOTHING_SURE, possible_languages
from voxcli.text.lexicon import Lexicon
from voxcli.text.markup import PAUSE, TextNotes, left_over_tags
from voxcli.text.normalize import left_as_written, normalize
from voxcli.text.rewritten import Rewritten
from voxcli.text.split import Segment, split

__all__ = ["SCENE_PAUSE_S", "Script", "ScriptOptions", "SpokenSegment", "read_script"]

SCENE_PAUSE_S = 1.0  # at a scene break, and for a text without words
MAX_MARK_S = 60.0  # for one pause mark
MAX_MARKS_S = 1_800.0  # for all pause marks of a text
MAX_NAMED = 5  # tags in a warning
_MIN_FIT = 20  # characters; segments with a long spoken form are not cut below this length
_BREAK = re.compile(rf"{PAUSE.pattern}|{SCENE}")


@dataclass(frozen=True)
class ScriptOptions:
    """How a text is read.

    max_chars:    maximum number of characters in a segment.
    normalize:    spell out numbers, dates, money, units and addresses.
    descriptions: allow brackets before a text to describe the voice.
    lexicon:      spoken forms of words.
    language:     language of the text; None to guess it.
    model_languages: languages of the model, which are the more likely ones of those that a text can be in.
    """

    max_chars: int = 240
    normalize: bool = False
    descriptions: bool = True
    lexicon: Lexicon | None = None
    language: str | None = None
    model_languages: frozenset[str] = NOTHING_SURE


@dataclass(frozen=True)
class SpokenSegment:
    """text: input for the model.  pause_s: silence after it.  written: its words and lines as in the text."""

    text: str
    pause_s: float
    written: str = ""


@dataclass(frozen=True)
class Script:
    """A text ready to be spoken.

    segments:     in order; empty if the text has no words.
    lead_s:       silence before the first segment; if there are no segments, all the silence of the text.
    description:  description of the voice; empty if there is none.
    own:          the part of the description that the text itself begins with.
    body:         the words as written.
    warnings:     readings of the text that may be wrong.
    note_marks:   number of note marks left out.
    languages:    languages that the text can be in; empty if unsure.
    """

    segments: tuple[SpokenSegment, ...]
    lead_s: float = 0.0
    description: str = ""
    own: str = ""
    body: str = ""
    warnings: tuple[str, ...] = field(default=())
    note_marks: int = 0
    languages: frozenset[str] = NOTHING_SURE


@dataclass(frozen=True)
class _PassageOptions:
    """languages: likely languages of the whole text."""

    script: ScriptOptions
    languages: frozenset[str]


def read_script(text: str, control: str | None = None, options: ScriptOptions = ScriptOptions()) -> Script:
    """Return the script of a text.

    control: a description of the voice that is given separately.

    Raises InputError for a description or pauses that are too long, and for a missing library.
    """
    if control is None and _is_simple(text, options):
        return Script((SpokenSegment(finish(text), 0.0, text),), body=text, languages=_languages(text, options))
    notes = TextNotes()
    text = read_text(text, notes)
    own, body = split_control(text) if options.descriptions else ("", text)
    description = described_by(own, clean(control) if control else None)
    if len(description) > MAX_DESCRIPTION:
        raise InputError(
            f"the description of the voice has {len(description):,} characters; the maximum is {MAX_DESCRIPTION:,}"
        )
    words = written(PAUSE.sub(" ", body))
    languages = _languages(words, options)
    likely = languages & options.model_languages or languages
    segments, lead_s = _segments(body, options, likely)
    warnings = list(_warnings(own, words, notes))
    if options.normalize and (left := left_as_written(" ".join(segment.text for segment in segments), likely)):
        warnings.append(left)
    if description:
        segments = [replace(segment, text=compose(segment.text, description)) for segment in segments]
    return Script(tuple(segments), lead_s, description, own, words, tuple(warnings), notes.note_marks, languages)


def _languages(words: str, options: ScriptOptions) -> frozenset[str]:
    return frozenset({options.language}) if options.language else possible_languages(words)


def _is_simple(text: str, options: ScriptOptions) -> bool:
    """Return whether a text is one segment as it is, like most lines of a manifest."""
    return (
        len(text) <= options.max_chars
        and options.lexicon is None
        and not options.normalize
        and text[:1] not in ("(", "\uff08")
        and is_plain(text)
        and is_speakable(text)
    )


def _warnings(own: str, words: str, notes: TextNotes) -> Iterator[str]:
    if own and not is_certain(own):
        yield f"({shortened(own)}) was taken as a description of the voice and is not spoken"
    if notes.tags:
        yield f"tags left out: {_listed(list(notes.tags))}"
    if tags := left_over_tags(words):
        yield f"tags are left in the text: {_listed(tags)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(map(shortened, names[:MAX_NAMED])) + more


def _segments(body: str, options: ScriptOptions, languages: frozenset[str]) -> tuple[list[SpokenSegment], float]:
    """Return the segments, and the silence before the first.

    Consecutive pause marks add up. A scene break is a pause only between words, and only without a pause mark there.
    """
    passage = _PassageOptions(options, languages)
    if "[" not in body and SCENE not in body:
        return _passage(body, passage, finish), 0.0
    segments: list[SpokenSegment] = []
    lead_s, total_s = 0.0, 0.0
    asked_s: float | None = None
    for words, seconds, following in _passages(body):
        if spoken := _passage(words, passage, continued if following.islower() else finish):
            if segments:
                segments[-1] = replace(segments[-1], pause_s=SCENE_PAUSE_S if asked_s is None else asked_s)
            else:
                lead_s = asked_s or 0.0
            segments += spoken
            asked_s = None
        if seconds is not None:
            asked_s = (asked_s or 0.0) + seconds
            total_s += seconds
            _check_pauses(seconds, total_s)
    if not segments:
        return [], asked_s or 0.0
    segments[-1] = replace(segments[-1], pause_s=asked_s or 0.0)
    return segments, lead_s


def _check_pauses(seconds: float, total_s: float) -> None:
    if seconds > MAX_MARK_S:
        raise InputError(f"a pause of {seconds:g} s; the maximum is {MAX_MARK_S:g} s")
    if total_s > MAX_MARKS_S:
        raise InputError(f"its pauses add up to more than {MAX_MARKS_S:,.0f} s: split the text")


def _passages(body: str) -> Iterator[tuple[str, float | None, str]]:
    """Yield the words before each pause, its seconds (None for a scene break or the end), and the next character."""
    place = 0
    for found in _BREAK.finditer(body):
        following = body[found.end() : found.end() + 16].lstrip()[:1]
        yield body[place : found.start()], float(found[1]) if found[1] else None, following
        place = found.end()
    yield body[place:], None, ""


def _passage(words: str, options: _PassageOptions, ended: Callable[[str], str]) -> list[SpokenSegment]:
    """Return the segments of words without a pause among them. `ended` adds punctuation to their end."""
    spoken = options.script.lexicon.apply(words) if options.script.lexicon else Rewritten(words, words)
    parts = list(_fitting(spoken.text, options))
    originals = _originals(spoken, parts)
    segments: list[SpokenSegment] = []
    for number, (part, original) in enumerate(zip(parts, originals, strict=True)):
        text = _with_end(_spoken_form(part.text, options), part, ended if number == len(parts) - 1 else finish)
        if is_speakable(text):
            segments.append(SpokenSegment(text, part.pause_s, written_lines(original)))
        elif segments:  # punctuation alone fills the segment
            segments[-1] = replace(segments[-1], pause_s=max(segments[-1].pause_s, part.pause_s))
    if segments and segments[-1].pause_s:
        segments[-1] = replace(segments[-1], pause_s=0.0)
    return segments


def _originals(spoken: Rewritten, parts: Sequence[Segment]) -> list[str]:
    """Return the words of each part before the lexicon was applied."""
    texts = [part.text for part in parts]
    if not spoken.edits:
        return texts
    return [text if found is None else found for text, found in zip(texts, spoken.written_parts(texts), strict=True)]


def _fitting(words: str, options: _PassageOptions) -> Iterator[Segment]:
    """Yield segments whose spoken form is within the limit: that of "$5.20" is longer than its written form."""
    for segment in split(words, options.script.max_chars):
        size = len(_spoken_form(segment.text, options)) if options.script.normalize else 0
        smaller = max(_MIN_FIT, len(segment.text) * options.script.max_chars // max(1, size))
        if size <= options.script.max_chars or smaller >= len(segment.text):
            yield segment
            continue
        *others, last = split(segment.text, smaller)
        yield from others
        yield replace(last, pause_s=segment.pause_s, end=segment.end)


def _spoken_form(text: str, options: _PassageOptions) -> str:
    """Return a segment in spoken form, except for its end."""
    text = without_leading_brackets(punctuate_line_ends(text))  # a model takes brackets at the start for a description
    return normalize(text, options.languages) if options.script.normalize else text


def _with_end(text: str, part: Segment, ended: Callable[[str], str]) -> str:
    """Return a segment with punctuation at its end, a full stop only where a sentence or an item ends."""
    if part.text.endswith(SENTENCE_END):
        return finish(text)
    return continued(text) if part.end < Strength.SENTENCE or part.text.endswith(VERSE_END) else ended(text)
