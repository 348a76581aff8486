"""One voice for the lines of a batch that have none: it is drawn before they are spoken.

    lines without a voice -> groups -> the first line of each is spoken -> its clip becomes a voice file -> all lines

The voice file is one of `voxcli.voices`, in the output folder, and lines are spoken with it as with any named voice,
also the line that it was drawn with. So resumed runs, many workers, takes and edited lines keep the voice.

Lines without a voice are one group, but the lines of each character of a cast are one of their own, and so are lines
whose description names the same person: "(an old man)". A manner, "(whispering)", is spoken in the voice of the group.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from voxcli.errors import InputError, OutputError
from voxcli.files.names import one_name, safe_name
from voxcli.files.places import real_path
from voxcli.files.write import check_place
from voxcli.jobs.history import Earlier
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Plan, Utterance, expected_seconds
from voxcli.jobs.rerun import Rerun
from voxcli.jobs.result import Outcome, shown_path
from voxcli.terminal import counted
from voxcli.text.description import person_of
from voxcli.voices.spoken import SpokenVoice
from voxcli.voices.store import SUFFIX, VoiceOrigin, read_info

STEM = "voice"
MAX_LABEL = 60  # characters
MIN_S = 3.0  # expected seconds of a line that shows its voice: a heading does not
MAX_DOUBTFUL = 3  # clips far too long or short for their text, after which the first of them is used

Rule = Literal["same", "own", "own before"]  # own before: an earlier run spoke the lines in voices of their own


def rule_of(plan: Plan, earlier: Earlier) -> Rule:
    """Decide whether lines without a voice share one.

    Without a wish of the command, a folder stays as it is: lines that have a voice in common keep it, and lines that
    were spoken without are not spoken again.
    """
    asked = plan.same_voice
    if asked.wanted is not None or asked.seed is not None:
        return "own" if asked.wanted is False else "same"
    good = {one_name(result.id): result for result in earlier.files}
    if any(result.voice for result in earlier.files):
        return "same"
    if not asked.joined:
        return "own"
    voiceless = (one_name(each.job.id) for each in plan.utterances if not each.job.voices)
    return "own before" if any(identity in good for identity in voiceless) else "same"


@dataclass
class Group:
    """Lines that share a voice.

    key:        names the group; empty for lines without a character or a person.
    path:       the voice file.
    ready:      it is there.
    candidates: lines to draw it with, the best last.
    doubtful:   voices of lines that are far too long or short for their text, with these lines.
    """

    key: str
    path: Path
    utterances: list[Utterance]
    ready: bool = False
    candidates: list[Utterance] = field(default_factory=list)
    doubtful: list[tuple[Job, int, SpokenVoice]] = field(default_factory=list)


class SharedVoices:
    """The voices that lines without one share. They are drawn again if everything is.

    Raises OutputError when a file that is not ours has the name of a voice file, InputError when a line names that file
    as its voice and it would be overwritten.
    """

    def __init__(self, plan: Plan, earlier: Earlier, rerun: Rerun):
        self._utterances = plan.utterances
        self._asked = plan.same_voice
        self._out = earlier.folder
        lasts = (history.last for history in earlier.histories.values())
        failed = {one_name(result.id) for result in lasts if result.failed}
        self._failed = failed if rerun.policy == "failed" else None
        self._again = rerun.everything
        self.groups = list(self._grouped())

    def _grouped(self) -> Iterator[Group]:
        members: dict[str, list[Utterance]] = {}
        for utterance in sorted(self._utterances, key=lambda each: each.place):
            if not utterance.job.voices:
                members.setdefault(_key(utterance), []).append(utterance)
        taken: set[str] = set()
        for key, utterances in members.items():
            group = Group(key, self._out / _file_name(key, taken), utterances)
            group.ready = self._is_there(group)
            if not group.ready and len(utterances) > 1 and self._has_work(utterances):
                self._refuse_input(group.path)
                group.candidates = _candidates(utterances)
            if group.ready or len(utterances) > 1:
                yield group

    def _is_there(self, group: Group) -> bool:
        """Whether the voice of the group was drawn before, and is not to be drawn again."""
        if not os.path.lexists(group.path):
            return False
        try:
            origin = read_info(group.path).origin
        except InputError:
            origin = None
        if origin is None or origin.group != group.key:
            raise OutputError(
                f"{group.path} exists and is not the voice of this batch: move it away, choose another folder, or "
                "use --no-same-voice"
            )
        return not self._again and self._asked.seed in (None, origin.seed, origin.asked)

    def _refuse_input(self, path: Path) -> None:
        if os.path.isdir(self._out):
            check_place(path)
        used = {voice for utterance in self._utterances for voice in utterance.job.voices}
        if any(real_path(voice) == real_path(path) for voice in used):
            raise InputError(f"{path} would overwrite the voice of a line: choose another folder, or --no-same-voice")

    def _has_work(self, utterances: Iterable[Utterance]) -> bool:
        return self._failed is None or any(one_name(each.job.id) in self._failed for each in utterances)

    def leaders(self) -> list[Utterance]:
        """Return the next lines to draw voices with, one of each group without a voice."""
        return [self._leader(group.candidates.pop()) for group in self.groups if not group.ready and group.candidates]

    def _leader(self, utterance: Utterance) -> Utterance:
        """Return its first segment, which is spoken only for its voice."""
        job = utterance.job
        if self._asked.seed is not None:
            job = replace(job, settings=job.settings.updated({"seed": self._asked.seed}))
        return replace(utterance, job=job, segments=utterance.segments[:1], gives_voice=True)

    def take(self, outcome: Outcome, voice: SpokenVoice | None, encoder: Callable[[], str]) -> str | None:
        """Take the outcome of a leader and write its voice.

        voice:   of its clip; None if it has none.
        encoder: returns the identity of the model's voice encoder.

        Returns a message for people; None if another line is tried first. Raises OutputError when the file can't be
        written.
        """
        seed = outcome.result.seed
        if voice is None or seed is None or not outcome.result.ok:
            return None
        return self._drawn(outcome.job, seed, voice, encoder())

    def _drawn(self, job: Job, seed: int, voice: SpokenVoice, encoder: str) -> str | None:
        group = next(each for each in self.groups if any(one.job.id == job.id for one in each.utterances))
        if voice.doubtful:
            group.doubtful.append((job, seed, voice))
            if group.candidates and len(group.doubtful) < MAX_DOUBTFUL:
                return None
            job, seed, voice = group.doubtful[0]
        voice.write(group.path, encoder, VoiceOrigin(id=job.id, seed=seed, asked=self._asked.seed, group=group.key))
        group.ready = True
        lines = counted(len(group.utterances), "line")
        return f"{lines} in one voice, drawn with the text of {job} and seed {seed}: {group.path}"

    def voiced(self) -> list[Utterance]:
        """Return all lines in the order of the plan, those without a voice with that of their group."""
        voices = {
            each.place: group.path for group in self.groups for each in group.utterances if self._has_voice(group)
        }
        return [self._voiced(each, voices.get(each.place)) for each in self._utterances]

    def _has_voice(self, group: Group) -> bool:
        """False if none could be drawn: the lines fail, or are spoken without."""
        return group.ready or bool(group.candidates) or self._failed is not None

    def _voiced(self, utterance: Utterance, path: Path | None) -> Utterance:
        if path is None:
            return utterance
        return replace(utterance, job=replace(utterance.job, voice=path), shared_voice=shown_path(path, self._out))

    def lines(self) -> list[str]:
        """Describe the voices for people."""
        return [
            f"{counted(len(group.utterances), 'line')} in one voice, "
            + (f"{group.path}" if group.ready else f"to be drawn: {group.path}")
            for group in self.groups
        ]


def preview_voices(plan: Plan, earlier: Earlier, rerun: Rerun) -> tuple[Plan, list[str]]:
    """Return the plan with the voices that a run would use, and their descriptions for people. See `SharedVoices`."""
    rule = rule_of(plan, earlier)
    if rule != "same":
        message = own_voices(plan, rule)
        return plan, [message] if message is not None else []
    voices = SharedVoices(plan, earlier, rerun)
    return replace(plan, utterances=voices.voiced()), voices.lines()


def own_voices(plan: Plan, rule: Rule) -> str | None:
    """Return the message for a batch whose lines without a voice each get one of their own.

    None for a batch without such lines, and for the demo voice, which does not draw voices.
    """
    lines = sum(not utterance.job.voices for utterance in plan.utterances)
    if rule == "same" or lines < 2 or plan.demo:
        return None
    if rule == "own before":
        return f"{counted(lines, 'line')} of an earlier run without --same-voice: each has a voice of its own"
    return (
        f"{counted(lines, 'line')} without a voice: each gets one of its own; --same-voice, --ref or --voice sets one"
    )


def _key(utterance: Utterance) -> str:
    return ", ".join(filter(None, (utterance.job.character, person_of(utterance.description))))


def _file_name(key: str, taken: set[str]) -> str:
    label = safe_name(key)[:MAX_LABEL].rstrip(" .") if key else ""
    name = f"{STEM}-{label}" if label else STEM
    if label and (label != key or one_name(name) in taken):
        name += f"-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    taken.add(one_name(name))
    return name + SUFFIX


def _candidates(utterances: Sequence[Utterance]) -> list[Utterance]:
    """Return the lines in the order in which they are tried, the first one last.

    First those that are long enough to show a voice, in the order of the manifest, then the others, the longest first.
    """
    lengths = {each.place: expected_seconds(each.segments[0].text) for each in utterances}
    long = [each for each in utterances if lengths[each.place] >= MIN_S]
    short = sorted((each for each in utterances if lengths[each.place] < MIN_S), key=lambda each: -lengths[each.place])
    return [*long, *short][::-1]
