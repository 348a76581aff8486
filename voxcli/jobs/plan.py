"""Turn jobs into utterances: clean, describe and split the text, check the voices. Needs no model.

Everything that can't be spoken is found here, before a model is loaded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from voxcli.audio.read import check_voice
from voxcli.errors import InputError, MissingExtra, VoxError, shortened
from voxcli.jobs.fingerprint import Fingerprint
from voxcli.jobs.gc_pause import gc_paused
from voxcli.jobs.job import Job
from voxcli.jobs.result import Review
from voxcli.jobs.samevoice import NO_WISH, SameVoice
from voxcli.jobs.speaker import DEMO, FULL, Speaker
from voxcli.terminal import counted, format_duration
from voxcli.text.clean import clean, is_speakable
from voxcli.text.normalize import check_installed
from voxcli.text.script import SCENE_PAUSE_S, ScriptOptions, SpokenSegment, read_script
from voxcli.voices.store import SUFFIX, VoiceInfo, check_voice_file

_FIRST_WIDE = "\u1100"  # all characters before it are narrow
NOTHING_TO_SPEAK = "the text has nothing to speak: no letter and no digit"


@dataclass(frozen=True)
class Utterance:
    """A job prepared for a model.

    segments:     the parts of the text, spoken one by one.
    prompt_text:  the words of the prompt recording, to put before the text.
    expected_s:   estimated seconds of audio.
    warnings:     messages for people, such as a language the model does not speak.
    lead_s:       seconds of silence before the first segment.
    description:  description of the voice; empty without one.
    own:          the part of it that is at the start of the text.
    note_marks:   number of note marks removed from the text.
    seed:         the seed to begin with, from an earlier run: drawn for a job without one, or the next one of a
                  doubtful take. None: that of the job.
    place:        its position among the jobs of the plan, from 0.
    shared_voice: the voice file that it shares with other lines without a voice, as results name it.
    gives_voice:  it is spoken only for its voice, and has no file and no result.
    review:       what its result has of earlier reviews.
    fingerprint:  lets a later run find out whether it would make the same audio.
    """

    job: Job
    segments: tuple[SpokenSegment, ...]
    prompt_text: str
    expected_s: float
    warnings: tuple[str, ...] = ()
    lead_s: float = 0.0
    description: str = ""
    own: str = ""
    note_marks: int = 0
    seed: int | None = None
    place: int = 0
    shared_voice: str | None = None
    gives_voice: bool = False
    review: Review | None = None
    fingerprint: Fingerprint | None = None


class Wordless(InputError):
    """A text consists only of marks or pauses. pause_s: seconds of silence it stands for."""

    def __init__(self, pause_s: float):
        self.pause_s = pause_s
        super().__init__(NOTHING_TO_SPEAK)


@dataclass
class Plan:
    """The plan of a run.

    utterances: what is spoken, longest first.
    skipped:    jobs without words, and the seconds of silence they stand for.
    refused:    jobs that can't be spoken, and the reason.
    voices:     the voice files that are used.
    same_voice: whether lines without a voice share one.
    demo:       the model is the demo voice.
    """

    utterances: list[Utterance] = field(default_factory=list)
    skipped: list[tuple[Job, float]] = field(default_factory=list)
    refused: list[tuple[Job, VoxError]] = field(default_factory=list)
    voices: set[Path] = field(default_factory=set)
    same_voice: SameVoice = NO_WISH
    demo: bool = False

    @property
    def jobs(self) -> Iterator[Job]:
        yield from (utterance.job for utterance in self.utterances)
        yield from (job for job, _ in self.skipped)
        yield from (job for job, _ in self.refused)

    @property
    def expected_s(self) -> float:
        return sum(utterance.expected_s * utterance.job.takes for utterance in self.utterances)

    @property
    def warnings(self) -> Iterator[str]:
        for utterance in sorted(self.utterances, key=lambda utterance: utterance.job.line):
            for warning in utterance.warnings:
                yield f"{utterance.job}: {warning}"

    @property
    def notes(self) -> list[str]:
        """Describe for people which parts of the texts are intentionally not spoken."""
        own = [utterance for utterance in self.utterances if utterance.own]
        marks = sum(utterance.note_marks for utterance in self.utterances)
        notes = []
        if own:
            first = min(own, key=lambda utterance: utterance.job.line)
            verb = "begins" if len(own) == 1 else "begin"
            notes.append(
                f"{counted(len(own), 'line')} {verb} with a description of the voice, which is not spoken: "
                f"{first.job}, ({shortened(first.own)})" + (", ..." if len(own) > 1 else "")
            )
        if marks:
            notes.append(f"{counted(marks, 'note mark')} left out")
        if self.skipped:
            job, pause_s = self.skipped[0]
            what = "is a pause" if len(self.skipped) == 1 else "are pauses"
            notes.append(
                f"{counted(len(self.skipped), 'line')} without words {what}: {job}, {pause_s:g} s"
                + (", ..." if len(self.skipped) > 1 else "")
            )
        return notes

    def _takes(self) -> str:
        takes = sum(utterance.job.takes for utterance in self.utterances)
        return f", {takes} takes" if takes > len(self.utterances) else ""

    def lines(self) -> list[str]:
        """Describe the plan for people."""
        segments = sum(len(utterance.segments) for utterance in self.utterances)
        split = f" in {segments} segments" if segments > len(self.utterances) else ""
        return [
            f"{counted(len(self.utterances), 'line')} to speak{split}{self._takes()}, "
            f"about {format_duration(self.expected_s)} of audio",
            *([counted(len(self.voices), "voice file")] if self.voices else []),
            *([f"{counted(len(self.refused), 'line')} that can't be spoken:"] if self.refused else []),
            *(f"  {job}: {error}" for job, error in self.refused),
            *self.notes,
            *self.warnings,
        ]


def make_plan(jobs: Iterable[Job], speaker: Speaker = FULL, same_voice: SameVoice = NO_WISH) -> Plan:
    """Plan jobs.

    speaker:    what is known of the model before it is loaded; languages it does not speak get a warning.
    same_voice: whether lines without a voice share one.

    Raises MissingExtra when a job sets `normalize` and a package for it is not installed.
    """
    plan, jobs = Plan(same_voice=same_voice, demo=speaker.name == DEMO), list(jobs)
    if any(job.settings.normalize for job in jobs):
        check_installed()
    checked: dict[Path, VoiceInfo | InputError | None] = {}
    with gc_paused():
        for place, job in enumerate(jobs):
            try:
                known = None
                for path in job.voices:
                    known = _check_once(path, checked)
                plan.utterances.append(prepare(job, known if job.voice else None, speaker, place))
                plan.voices.update(job.voices)
            except Wordless as wordless:
                plan.skipped.append((job, wordless.pause_s))
            except MissingExtra:  # no fault of this line
                raise
            except InputError as error:
                plan.refused.append((job, error))
    plan.utterances.sort(key=lambda utterance: -utterance.expected_s)
    return plan


def check_voices(*paths: Path | None) -> None:
    """Check voices given for all lines of a command. Raises InputError, which ends the command, not single lines."""
    for path in filter(None, paths):
        _check_once(path, {})


def prepare(job: Job, voice: VoiceInfo | None = None, speaker: Speaker = FULL, place: int = 0) -> Utterance:
    """Clean, describe and split the text of a job.

    voice:   metadata of the job's named voice. If it has a transcript, speech continues its recording, unless the
             text or `control` describes a manner.
    speaker: the model.
    place:   position of the job among those of the plan.

    Raises Wordless for a text of marks or pauses only, InputError for an empty text, or if a description is combined
    with a prompt recording.
    """
    settings = job.settings
    options = ScriptOptions(
        max_chars=settings.max_chars,
        normalize=settings.normalize,
        descriptions=settings.descriptions,
        lexicon=job.lexicon,
        language=settings.language,
        model_languages=speaker.languages,
    )
    script = read_script(job.text, job.control, options)
    if not script.segments:
        if not any(map(str.isprintable, "".join(job.text.split()))):
            raise InputError(NOTHING_TO_SPEAK)
        raise Wordless(script.lead_s or max(SCENE_PAUSE_S, job.pause_after))
    if script.description and job.prompt_audio is not None:
        raise InputError(
            f"the text describes the voice ({shortened(script.description)}) and continues a recording: "
            "a voice is described or continued, not both"
        )
    if job.prompt_text and not is_speakable(clean(job.prompt_text)):
        raise InputError("prompt_text has no letter and no digit: give the words of the recording")
    foreign = speaker.foreign(script.body, script.languages)
    before = voice.text if voice is not None and not script.description else job.prompt_text
    return Utterance(
        job=replace(job, lexicon=None) if job.lexicon else job,  # it has been applied and may be large
        segments=script.segments,
        prompt_text=_before(clean(before), script.body) if before else "",
        expected_s=expected_seconds(script.body)
        + script.lead_s
        + sum([segment.pause_s for segment in script.segments]),
        warnings=(*([foreign] if foreign else []), *script.warnings),
        lead_s=script.lead_s,
        description=script.description,
        own=script.own,
        note_marks=script.note_marks,
        place=place,
    )


def expected_seconds(text: str) -> float:
    """Estimate seconds of speech: 15 characters per second, 4.5 for scripts whose characters are syllables."""
    may_be_wide = not text.isascii() and max(text) >= _FIRST_WIDE
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text) if may_be_wide else 0
    return wide / 4.5 + (len(text) - wide) / 15


def _before(prompt_text: str, text: str) -> str:
    """Return the prompt's words with the space to put before the text: the model reads both as one text."""
    joint = prompt_text[-1:] + text[:1]
    spaced = not any(unicodedata.east_asian_width(char) in "WF" for char in joint)
    return f"{prompt_text} " if spaced and prompt_text else prompt_text


def _check_once(path: Path, checked: dict[Path, VoiceInfo | InputError | None]) -> VoiceInfo | None:
    """Return the info of a named voice, None for a recording. Raises InputError if it can't be used."""
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
