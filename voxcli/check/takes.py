"""The takes of a line: segments are spoken again, with the next seeds, until they pass the check; the best are kept.

Without a voice the first segment is the voice of the others, so then all segments are spoken again together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxcli.check.checker import CheckedClip, Checker, ClipText
from voxcli.check.earlier import MAX_SEED
from voxcli.check.record import LineCheck, Listened, line_check
from voxcli.check.signals import measure
from voxcli.check.verdict import ClipCheck, Limits, badness, reasons
from voxcli.engine.request import Clip
from voxcli.errors import SynthesisError
from voxcli.jobs.plan import Utterance
from voxcli.jobs.result import Cue
from voxcli.text.description import compose

__all__ = ["Takes"]


@dataclass(frozen=True)
class _Take:
    """Clips that were spoken with one seed, and their checks, by segment."""

    clips: Mapping[int, Clip]
    checks: Mapping[int, CheckedClip]

    def badness(self, limits: Limits) -> tuple[int, float]:
        each = [badness(checked.check, limits) for checked in self.checks.values()]
        return sum(faults for faults, _ in each), sum(errors for _, errors in each)

    def passes(self, limits: Limits) -> bool:
        return not any(reasons(checked.check, limits) for checked in self.checks.values())

    @property
    def heard(self) -> bool:
        return not any(checked.check.unheard for checked in self.checks.values())

    @property
    def next_seed(self) -> int:
        """The first seed that the engine has not used for it: bad cases are retried with the next ones."""
        return max(clip.seed + clip.attempts for clip in self.clips.values())

    @property
    def attempts(self) -> int:
        return max(clip.attempts for clip in self.clips.values())


class Takes:
    """Collects the takes of an utterance."""

    def __init__(self, utterance: Utterance, checker: Checker):
        self._utterance, self._checker = utterance, checker
        segments = range(len(utterance.segments))
        alone = bool(utterance.job.voices) or len(segments) == 1
        self._groups = [(index,) for index in segments] if alone else [tuple(segments)]
        self._takes: list[list[_Take]] = [[] for _ in self._groups]

    def add(self, clips: Mapping[int, Clip]) -> dict[int, int]:
        """Check the clips that are new. Blocks until they are heard.

        Returns the next seed of each segment that must be spoken again; empty if the line is decided. Raises ModelError
        if the recognizer can't be loaded.
        """
        again: dict[int, int] = {}
        for group, takes in zip(self._groups, self._takes, strict=True):
            if takes and takes[-1].clips[group[0]] is clips[group[0]]:
                continue
            mine = {index: clips[index] for index in group}
            takes.append(_Take(mine, {index: self._check(index, clip) for index, clip in mine.items()}))
            decided = takes[-1].passes(self._checker.limits) or not takes[-1].heard
            if not decided and len(takes) <= self._checker.options.retries and takes[-1].next_seed <= MAX_SEED:
                again |= dict.fromkeys(group, takes[-1].next_seed)
        return again

    @property
    def best(self) -> dict[int, Clip]:
        """The clips to keep, by segment."""
        return {index: clip for take in self._best() for index, clip in take.clips.items()}

    @property
    def attempts(self) -> int:
        """The number of times that the most difficult segment was spoken."""
        return max(sum(take.attempts for take in takes) for takes in self._takes)

    def line_check(self, samples: NDArray[np.float32], rate: int, cues: Sequence[Cue]) -> LineCheck:
        """Return the check of the line.

        samples: float32[n] at `rate` Hz, as its file has them.
        cues:    when its segments are heard.
        """
        checks = {index: checked for take in self._best() for index, checked in take.checks.items()}
        clips = [
            Listened(segment.written, cue.start, checks[index])
            for index, (segment, cue) in enumerate(zip(self._utterance.segments, cues, strict=False))
        ]
        whole, checker = measure(samples, rate), self._checker
        found = line_check(self._utterance.job.text, clips, whole, checker.limits, checker.model.name)
        return found.with_record(self._record())

    def _record(self) -> dict[str, Any]:
        """Return the seeds for results.jsonl: of the first take, of the kept one of each segment, and the next one."""
        kept = self.best
        return {
            "takes": max(map(len, self._takes)),
            "first_seed": self._takes[0][0].clips[0].seed,
            "seeds": [kept[index].seed for index in sorted(kept)],
            "next_seed": max(take.next_seed for takes in self._takes for take in takes),
        }

    def _best(self) -> list[_Take]:
        """Return the best take of each group; of equally good ones the first."""
        return [min(takes, key=lambda take: take.badness(self._checker.limits)) for takes in self._takes]

    def _check(self, index: int, clip: Clip) -> CheckedClip:
        assert clip.audio is not None, "only clips with audio are checked"
        utterance, job = self._utterance, self._utterance.job
        segment = utterance.segments[index]
        spoken = segment.text
        if utterance.description:
            spoken = spoken.removeprefix(compose("", utterance.description))
        text = ClipText.of(segment.written, spoken, job.settings.language)
        try:
            return self._checker.check(
                clip.audio, clip.sample_rate, text, voice=next(iter(job.voices), None), about=job.text
            )
        except SynthesisError as error:  # the clip may be right
            return CheckedClip(ClipCheck(measure(clip.audio, clip.sample_rate), unheard=str(error)))
