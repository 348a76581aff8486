"""What an earlier run left to do: lines whose file is there and would come out the same are kept, the rest is spoken.

What counts is the last result that was ok: a run that failed since did not take its file away. A line without a seed
keeps the one drawn for it when it is spoken again, so that its file comes back as it was, and an edited text in the
voice it had. `--force` draws anew.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from voxcli.errors import InputError, OutputError
from voxcli.files.names import LOCK_NAME, one_name
from voxcli.files.read import content_digest
from voxcli.jobs.fingerprint import Fingerprint, _digest, _named, read_fingerprint
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.result import Outcome, Result, shown_path
from voxcli.run.results import History, read_history
from voxcli.run.throughput import pace
from voxcli.terminal import clock, counted

RerunPolicy = Literal["changed", "failed", "all"]

NEW, FAILED = "new", "failed before"


@dataclass
class ResumePlan:
    """A plan beside an earlier run's results.

    todo:     to be spoken, in the plan's order, each with its fingerprint.
    kept:     done before and unchanged, with their results of then.
    mended:   results of those whose last line says otherwise, as when they failed since: to be noted again.
    left:     neither: what `--retry-failed` leaves alone.
    reasons:  how many are spoken why.
    """

    todo: list[Utterance] = field(default_factory=list)
    kept: list[Outcome] = field(default_factory=list)
    mended: list[Result] = field(default_factory=list)
    left: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """For people, in a line."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        left = f", {self.left} left for a run without --retry-failed" if self.left else ""
        kept = counted(len(self.kept), "line")
        return f"{kept} done before and unchanged, {len(self.todo)} to speak{why and f' ({why})'}{left}"


def make_resume_plan(
    plan: Plan, before: Mapping[str, History], out: Path, model: str | None, rerun: RerunPolicy
) -> ResumePlan:
    """Reads the files of lines that may be kept. Raises OutputError where one is there and can't be read.

    before: what was noted of each id, in the folder `out`.  model: its identity; None leaves the model aside.
    """
    resume_plan, fingerprints, earlier = ResumePlan(), Fingerprints(model), _Earlier(before)
    for utterance in plan.utterances:
        history = earlier.of(utterance.job)
        now = fingerprints.of(utterance)
        reason = "--force" if rerun == "all" and history is not None else _reason(utterance, history, now, out)
        if history is not None and history.good is not None and reason is None:
            good = replace(history.good, id=utterance.job.id, extra=utterance.job.extra or None)
            resume_plan.kept.append(Outcome(utterance.job, good, before=True))
            resume_plan.mended += [] if history.last == good else [good]
        elif rerun == "failed" and reason != FAILED:
            resume_plan.left += 1
        else:
            seed = None if rerun == "all" else _seed(history)
            resume_plan.todo.append(replace(utterance, seed=seed, fingerprint=now))
            resume_plan.reasons[reason or NEW] += 1
    return resume_plan


Beside = Callable[[Job], Iterable[Path]]


def nothing(job: Job) -> Iterable[Path]:
    """Beside the file of a job."""
    return ()


def check_places(
    plan: Plan, before: Mapping[str, History], out: Path, rerun: RerunPolicy, beside: Beside = nothing
) -> None:
    """Raise OutputError where a file would be replaced that no result tells of: whose it is, is not known.

    beside: what else is written for a job, as subtitles are; they are known by its file.
    """
    earlier = _Earlier(before)
    ours = {one_name(history.good.out) for history in before.values() if history.good is not None}
    in_the_way = [
        (job.line, path)
        for job in (utterance.job for utterance in plan.utterances)
        if rerun == "changed" or (rerun == "failed" and _failed(earlier.of(job)))
        if one_name(shown_path(job.out, out)) not in ours
        for path in (job.out, *beside(job))
        if os.path.lexists(path) and not os.path.isdir(path)  # nothing takes the place of a folder
    ]
    if in_the_way:
        (_, first), others = min(in_the_way), len(in_the_way) - 1
        more = f" (nor {others} other{'s' * (others > 1)})" if others else ""
        raise OutputError(
            f"{first} is there, but no run has noted it{more}: move it away, choose another folder, "
            "or use --force to replace it"
        )


def check_retry(out: Path, rerun: RerunPolicy) -> None:
    """Raise InputError when the lines that failed are wanted, and no run has been."""
    if rerun == "failed" and not read_history(out):
        raise InputError(f"--retry-failed: no run has noted a line in {out}; leave it out to speak them all")


class _Earlier:
    """Histories by id; one that was written in other case is that of the same line, as it is in a manifest."""

    def __init__(self, histories: Mapping[str, History]):
        self._histories = histories
        self._names = {one_name(identity): history for identity, history in histories.items()}

    def of(self, job: Job) -> History | None:
        return self._histories.get(job.id) or self._names.get(one_name(job.id))


def _failed(history: History | None) -> bool:
    return history is not None and history.last.failed


def preview(
    plan: Plan, out: Path, rerun: RerunPolicy, usual: float | None = None, beside: Beside = nothing
) -> list[str]:
    """What the plan comes to beside the results that are there, and in what time, for people.

    usual: seconds of audio that this machine makes in a second, where the results do not tell.
    """
    before = read_history(out)
    if not os.path.lexists(out / LOCK_NAME):
        check_places(plan, before, out, rerun, beside)
    if not before:
        return [f"about {_time(plan.expected_s, usual, 'the last run here')}"] if usual and plan.expected_s else []
    resume_plan = make_resume_plan(plan, before, out, None, rerun)
    todo_s = sum(utterance.expected_s for utterance in resume_plan.todo)
    if not todo_s:
        return [str(resume_plan)]
    if speed := pace(history.good for history in before.values() if history.good is not None):
        time = f", about {_time(todo_s, speed, 'the results there')}"
    else:
        time = f", about {_time(todo_s, usual, 'the last run here')}" if usual else ""
    return [str(resume_plan), f"about {clock(todo_s)} of audio to speak{time}"]


def _time(audio_s: float, speed: float, of: str) -> str:
    return f"{clock(audio_s / speed)} at the speed of {of} ({speed:.2f}x real time)"


def _seed(history: History | None) -> int | None:
    """What was drawn for a line: for its file or, where it never had one, for the sound that could not be written."""
    return None if history is None else (history.good or history.last).seed


def _reason(utterance: Utterance, history: History | None, now: Fingerprint, out: Path) -> str | None:
    """Why a line is spoken; None when its file is as it would be."""
    if history is None:
        return NEW
    if history.good is None:
        return FAILED if history.last.failed else "text changed"  # it had no words
    changed = _change(utterance.job, history.good, now, out)
    return FAILED if changed is not None and history.last.failed else changed


def _change(job: Job, good: Result, now: Fingerprint, out: Path) -> str | None:
    """What makes a line's file another than it would be; None when nothing does. Cheap questions come first."""
    then = read_fingerprint(good.fingerprint)
    if then is None:
        return "of another version"
    changed = now.difference(then, good.seed)
    if changed is not None:
        return f"{changed} changed"
    if good.out != shown_path(job.out, out):
        return "name changed"
    try:
        return None if content_digest(job.out) == good.sha256 else "file changed"
    except FileNotFoundError:
        return "file missing"
    except OSError as error:
        if _is_file(job.out):  # it may well be as it was: a share that answers badly, rights that are missing
            raise OutputError(f"can't read {job.out}, which is there already: {error.strerror or error}") from error
        return "file unreadable"


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except NotADirectoryError:
        return False
    except OSError:
        return True  # for all that is known


def _lead(utterance: Utterance) -> list[float]:
    return [utterance.lead_s] if utterance.lead_s else []


class Fingerprints:
    """Makes the fingerprints of one run; reads each recording once."""

    def __init__(self, model: str | None):
        self.model = model
        self._contents: dict[Path, str] = {}

    def of(self, utterance: Utterance) -> Fingerprint:
        voice, settings = self.voice_and_settings(utterance.job)
        return Fingerprint(
            text=_digest(
                [utterance.prompt_text, *_lead(utterance), *([one.text, one.pause_s] for one in utterance.segments)]
            ),
            voice=voice,
            settings=settings,
            model=self.model,
            seed=utterance.job.settings.seed,
        )

    def voice_and_settings(self, job: Job) -> tuple[str | None, dict[str, Any]]:
        """What a fingerprint has of them."""
        parts = (job.ref, job.prompt_audio, job.voice)
        voice = _digest([path and self._content(path) for path in parts]) if any(parts) else None
        return voice, _named(job.settings) | {"format": job.format}

    def _content(self, path: Path) -> str:
        if path not in self._contents:
            try:
                self._contents[path] = content_digest(path)
            except OSError:
                self._contents[path] = ""  # gone since it was looked at: its lines will fail and say so
        return self._contents[path]
