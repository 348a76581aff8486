"""What somebody wrote -> what is spoken: segments that a model speaks well, and the silence between them.

    text -> read_text (clean) -> description | words -> passages between pauses -> segments -> each as it is said

Beside what is said of each segment stands what was written: subtitles show that.
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
from voxcli.text.endings import SCENE, SENTENCE_END, VERSE_END, continued, finish, heard, written, written_lines
from voxcli.text.guess import NOTHING_SURE, possible_languages
from voxcli.text.lexicon import Lexicon
from voxcli.text.markup import PAUSE, TextNotes, left_over_tags
from voxcli.text.normalize import left_as_written, normalize
from voxcli.text.rewritten import Rewritten
from voxcli.text.split import Segment, split

__all__ = ["SCENE_PAUSE_S", "Script", "ScriptOptions", "SpokenSegment", "read_script"]

SCENE_PAUSE_S = 1.0  # of a scene break, and of a text without words
MAX_MARK_S = 60.0  # of one pause mark
MAX_MARKS_S = 1_800.0  # of all pause marks of a text
MAX_NAMED = 5  # tags in a warning
_MIN_FIT = 20  # characters: a segment is not cut smaller because it takes more when it is said
_BREAK = re.compile(rf"{PAUSE.pattern}|{SCENE}")


@dataclass(frozen=True)
class ScriptOptions:
    """How a text is read.

    max_chars:    of a segment.
    normalize:    numbers, dates, money, units and addresses are said as words.
    descriptions: brackets before a text may describe the voice.
    lexicon:      how words are said.
    language:     of the text; None: guessed.
    model_languages: of the languages that a text can be in, one of these is more likely.
    """

    max_chars: int = 240
    normalize: bool = False
    descriptions: bool = True
    lexicon: Lexicon | None = None
    language: str | None = None
    model_languages: frozenset[str] = NOTHING_SURE


@dataclass(frozen=True)
class SpokenSegment:
    """text: as the model gets it.  pause_s: silence after it.  written: its words, in lines, as in the text."""

    text: str
    pause_s: float
    written: str = ""


@dataclass(frozen=True)
class Script:
    """
    segments:     in their order; none where the text has no words.
    lead_s:       silence before the first; where there are none, all the silence that the text asks for.
    description:  of the voice; empty without one.
    own:          the part of it that the text itself begins with.
    body:         the words as they are written.
    warnings:     what may not be as it was meant.
    note_marks:   left out.
    languages:    those that it can be in; empty when nothing is sure.
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
    """languages: the likely ones of the whole text."""

    script: ScriptOptions
    languages: frozenset[str]


def read_script(text: str, control: str | None = None, options: ScriptOptions = ScriptOptions()) -> Script:
    """Raises InputError for a description or pauses that are too long, and for a library that is missing."""
    if control is None and _is_simple(text, options):
        return Script((SpokenSegment(finish(text), 0.0, text),), body=text, languages=_languages(text, options))
    notes = TextNotes()
    text = read_text(text, notes)
    own, body = split_control(text) if options.descriptions else ("", text)
    description = described_by(own, clean(control) if control else None)
    if len(description) > MAX_DESCRIPTION:
        raise InputError(
            f"the voice is described in {len(description):,} characters; the maximum is {MAX_DESCRIPTION:,}"
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
    """Whether a text is one segment as it stands, as most lines of a manifest are."""
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
    """The segments, and the silence before the first.

    A pause that the text asks for is as long as it says, and several in a row as long as all of them. A scene break is
    a pause between words alone, and none beside a pause that is asked for.
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
        raise InputError(f"its pauses take more than {MAX_MARKS_S:,.0f} s in all: make several texts of it")


def _passages(body: str) -> Iterator[tuple[str, float | None, str]]:
    """Words up to each pause, its seconds (None for a scene break and at the end), and the character after it."""
    place = 0
    for found in _BREAK.finditer(body):
        following = body[found.end() : found.end() + 16].lstrip()[:1]
        yield body[place : found.start()], float(found[1]) if found[1] else None, following
        place = found.end()
    yield body[place:], None, ""


def _passage(words: str, options: _PassageOptions, ended: Callable[[str], str]) -> list[SpokenSegment]:
    """Words without a pause among them. `ended` puts a mark at their end."""
    said = options.script.lexicon.apply(words) if options.script.lexicon else Rewritten(words, words)
    parts = list(_fitting(said.text, options))
    originals = _originals(said, parts)
    segments: list[SpokenSegment] = []
    for number, (part, original) in enumerate(zip(parts, originals, strict=True)):
        text = _with_end(_said(part.text, options), part, ended if number == len(parts) - 1 else finish)
        if is_speakable(text):
            segments.append(SpokenSegment(text, part.pause_s, written_lines(original)))
        elif segments:  # marks alone that fill a segment
            segments[-1] = replace(segments[-1], pause_s=max(segments[-1].pause_s, part.pause_s))
    if segments:
        segments[-1] = replace(segments[-1], pause_s=0.0)
    return segments


def _originals(said: Rewritten, parts: Sequence[Segment]) -> list[str]:
    """The words that a lexicon was applied to, of each part."""
    texts = [part.text for part in parts]
    if not said.edits:
        return texts
    return [text if found is None else found for text, found in zip(texts, said.written_parts(texts), strict=True)]


def _fitting(words: str, options: _PassageOptions) -> Iterator[Segment]:
    """Pieces within the bound, also when they are said: "$5.20" takes more characters than it has."""
    for segment in split(words, options.script.max_chars):
        size = len(_said(segment.text, options)) if options.script.normalize else 0
        smaller = max(_MIN_FIT, len(segment.text) * options.script.max_chars // max(1, size))
        if size <= options.script.max_chars or smaller >= len(segment.text):
            yield segment
            continue
        *others, last = split(segment.text, smaller)
        yield from others
        yield replace(last, pause_s=segment.pause_s, end=segment.end)


def _said(text: str, options: _PassageOptions) -> str:
    """A segment as it is said, but for its end."""
    text = without_leading_brackets(heard(text))  # a segment that begins with brackets would be taken for described
    return normalize(text, options.languages) if options.script.normalize else text


def _with_end(text: str, part: Segment, ended: Callable[[str], str]) -> str:
    """A segment with a mark at its end, a full stop only where a sentence or an item ends."""
    if part.text.endswith(SENTENCE_END):
        return finish(text)
    return continued(text) if part.end < Strength.SENTENCE or part.text.endswith(VERSE_END) else ended(text)
