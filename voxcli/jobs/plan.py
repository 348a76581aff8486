"""Jobs become utterances: the text cleaned, described and split, the voices looked at. No model needed.

What can't be spoken is found here, before anything heavy loads.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from voxcli.audio.read import check_voice
from voxcli.errors import InputError, VoxError, shortened
from voxcli.jobs.fingerprint import Fingerprint
from voxcli.jobs.gc_pause import gc_paused
from voxcli.jobs.job import Job
from voxcli.jobs.speaker import FULL, Speaker
from voxcli.terminal import clock, counted
from voxcli.text.clean import MAX_DESCRIPTION, clean, describe, finish, is_speakable, split_control
from voxcli.text.guess import possible_languages
from voxcli.text.normalize import check_installed, normalize
from voxcli.text.rewritten import Rewritten
from voxcli.text.split import Segment, split
from voxcli.voices.store import SUFFIX, VoiceInfo, check_voice_file


@dataclass(frozen=True)
class Utterance:
    """A job ready for a model: what is spoken, piece by piece, and for about how long.

    written:      of each piece the words that it stands for, None where it stands for itself; empty where all do.
    seed:         what an earlier run drew for a job that asks for none.
    fingerprint:  what tells a later run whether it would speak the same.
    """

    job: Job
    segments: tuple[Segment, ...]
    prompt_text: str
    expected_s: float
    warnings: tuple[str, ...] = ()
    written: tuple[str | None, ...] = ()
    seed: int | None = None
    fingerprint: Fingerprint | None = None


@dataclass
class Plan:
    """All that can be spoken, longest expected first, and all that can't with the reason."""

    utterances: list[Utterance] = field(default_factory=list)
    refused: list[tuple[Job, VoxError]] = field(default_factory=list)
    voices: set[Path] = field(default_factory=set)

    @property
    def expected_s(self) -> float:
        return sum(utterance.expected_s for utterance in self.utterances)

    @property
    def warnings(self) -> Iterator[str]:
        for utterance in self.utterances:
            for warning in utterance.warnings:
                yield f"{utterance.job}: {warning}"

    def lines(self) -> list[str]:
        """The plan for people."""
        segments = sum(len(utterance.segments) for utterance in self.utterances)
        split = f" in {segments} pieces" if segments > len(self.utterances) else ""
        return [
            f"{counted(len(self.utterances), 'line')} to speak{split}, about {clock(self.expected_s)} of audio",
            *([counted(len(self.voices), "voice file")] if self.voices else []),
            *([f"{counted(len(self.refused), 'line')} that can't be spoken:"] if self.refused else []),
            *(f"  {job}: {error}" for job, error in self.refused),
            *self.warnings,
        ]


def make_plan(jobs: Iterable[Job], speaker: Speaker = FULL) -> Plan:
    """speaker: the model, as far as it is known before it is loaded: what it does not speak gets a warning.

    Raises InputError when a job wants to be normalized and the packages for that are not here."""
    plan, jobs = Plan(), list(jobs)
    if any(job.settings.normalize for job in jobs):
        check_installed()
    checked: dict[Path, VoiceInfo | InputError | None] = {}
    with gc_paused():
        for job in jobs:
            try:
                known = None
                for path in job.voices:
                    known = _check_once(path, checked)
                plan.utterances.append(prepare(job, known if job.voice else None, speaker))
                plan.voices.update(job.voices)
            except InputError as error:
                plan.refused.append((job, error))
    plan.utterances.sort(key=lambda utterance: -utterance.expected_s)
    return plan


def check_voices(*paths: Path | None) -> None:
    """What a command names for all its lines. Raises InputError: that is no fault of any line."""
    for path in filter(None, paths):
        _check_once(path, {})


def prepare(job: Job, voice: VoiceInfo | None = None, speaker: Speaker = FULL) -> Utterance:
    """Clean, describe and split the text of a job.

    voice:   what the job's named voice says of itself. With a transcript speech goes on from it, but for a described
             manner: then the voice alone is followed.
    speaker: the model.

    Raises InputError when there is nothing to speak or the description and the recording exclude each other.
    """
    said = _said(clean(job.text, paragraphs=True), job)
    text = normalize(said.text) if job.settings.normalize else said.text
    description, body = describe(text, job.control)
    if len(description) > MAX_DESCRIPTION:
        raise InputError(
            f"the voice is described in {len(description):,} characters; the maximum is {MAX_DESCRIPTION:,}"
        )
    if not is_speakable(body):
        raise InputError("the text has nothing to speak: no letter and no digit")
    if description and job.prompt_audio is not None:
        raise InputError(
            f"the text describes the voice ({shortened(description)}) and continues a recording: "
            "a voice is described or continued, not both"
        )
    if job.prompt_text and not is_speakable(clean(job.prompt_text)):
        raise InputError("prompt_text has no letter and no digit: it wants the words of the recording")
    head = f"({description})" if description else ""
    parts = [
        (segment, text)
        for segment in split(body, job.settings.max_chars)
        if is_speakable(text := finish(_without_description(segment.text)))
    ]
    segments = [
        segment if text == segment.text and not description else Segment(head + text, segment.pause_s)
        for segment, text in parts
    ]
    language = job.settings.language
    foreign = speaker.foreign(body, frozenset({language}) if language else possible_languages(body))
    before = voice.text if voice is not None and not description else job.prompt_text
    return Utterance(
        job=replace(job, lexicon=None) if job.lexicon else job,  # it has been applied, and may be large
        segments=tuple(segments),
        prompt_text=_before(clean(before), body) if before else "",
        expected_s=expected_seconds(body) + sum([segment.pause_s for segment in segments]),
        warnings=(foreign,) if foreign else (),
        written=_written(said, body, [segment.text for segment, _ in parts]),
    )


def _said(text: str, job: Job) -> Rewritten:
    """What is said of a text, by the job's lexicon; a description of the voice is not."""
    if job.lexicon is None:
        return Rewritten(text, text)
    return job.lexicon.apply(text, len(text) - len(split_control(text)[1]))


def _written(said: Rewritten, body: str, parts: Sequence[str]) -> tuple[str | None, ...]:
    """What stands for the parts of the body, the end of what is said; empty where they stand for themselves."""
    if not said.edits or not said.text.endswith(body):
        return ()
    found = said.written_parts(parts, len(said.text) - len(body))
    return tuple(None if text == part else text for text, part in zip(found, parts, strict=True))


def _without_description(text: str) -> str:
    """A later sentence in brackets is spoken: at the start of a piece the model would take it for a description."""
    aside, rest = split_control(text)
    return f"{finish(aside)} {rest}".rstrip() if aside else text


def expected_seconds(text: str) -> float:
    """About how long a text takes: 15 characters a second, 4.5 where a character is a syllable or more."""
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide / 4.5 + (len(text) - wide) / 15


def _before(prompt_text: str, text: str) -> str:
    """The words of the recording as they stand before the text: the model reads both as one."""
    joint = prompt_text[-1:] + text[:1]
    spaced = not any(unicodedata.east_asian_width(char) in "WF" for char in joint)
    return f"{prompt_text} " if spaced and prompt_text else prompt_text


def _check_once(path: Path, checked: dict[Path, VoiceInfo | InputError | None]) -> VoiceInfo | None:
    """What a named voice says of itself; None for a recording. Raises InputError for what can't be used."""
    if path not in checked:
        try:
            if path.suffix == SUFFIX:
                checked[path] = check_voice_file(path)
            else:
                check_voice(path)
                checked[path] = None
        except InputError as error:
            checked[path] = error
    known = checked[path]
    if isinstance(known, InputError):
        raise known
    return known
