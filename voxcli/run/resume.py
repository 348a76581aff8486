"""What an earlier run left to do: lines whose file is there and would come out the same are kept, the rest is spoken.

A line without a seed keeps the one drawn for it when it is spoken again, so that its file comes back as it was, and an
edited text in the voice it had. `--force` draws anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from voxcli.run.fingerprint import Fingerprint, Fingerprints, content_digest, read_fingerprint
from voxcli.run.pace import pace
from voxcli.run.plan import Plan, Utterance
from voxcli.run.report import clock
from voxcli.run.results import Outcome, Result, read_results, shown_path

Redo = Literal["changed", "failed", "all"]

NEW, FAILED = "new", "failed before"


@dataclass
class Agenda:
    """A plan beside an earlier run's results.

    todo:     to be spoken, in the plan's order, each with its fingerprint.
    kept:     done before and unchanged, with their results of then.
    left:     neither: what `--retry-failed` leaves alone.
    reasons:  how many are spoken why.
    """

    todo: list[Utterance] = field(default_factory=list)
    kept: list[Outcome] = field(default_factory=list)
    left: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """For people, in a line."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        left = f", {self.left} left for a run without --retry-failed" if self.left else ""
        return f"{len(self.kept)} lines done before and unchanged, {len(self.todo)} to speak{why and f' ({why})'}{left}"


def make_agenda(plan: Plan, before: Mapping[str, Result], out: Path, model: str | None, redo: Redo) -> Agenda:
    """Reads the files of lines that may be kept.

    before: results by id, from the folder `out`.  model: its identity; None leaves the model aside.
    """
    agenda, fingerprints = Agenda(), Fingerprints(model)
    for utterance in plan.utterances:
        last = before.get(utterance.job.id)
        now = fingerprints.of(utterance)
        reason = "--force" if redo == "all" and last is not None else _reason(utterance, last, now, out)
        if last is not None and reason is None:
            agenda.kept.append(Outcome(utterance.job, last, before=True))
        elif redo == "failed" and reason != FAILED:
            agenda.left += 1
        else:
            seed = last.seed if last is not None and redo != "all" else None
            agenda.todo.append(replace(utterance, seed=seed, fingerprint=now))
            agenda.reasons[reason or NEW] += 1
    return agenda


def preview(plan: Plan, out: Path, redo: Redo, usual: float | None = None) -> list[str]:
    """What the plan comes to beside the results that are there, and in what time, for people.

    usual: seconds of audio that this machine makes in a second, where the results do not tell.
    """
    before = read_results(out)
    if not before:
        return [f"about {_time(plan.expected_s, usual, 'the last run here')}"] if usual and plan.expected_s else []
    agenda = make_agenda(plan, before, out, None, redo)
    todo_s = sum(utterance.expected_s for utterance in agenda.todo)
    if not todo_s:
        return [str(agenda)]
    if speed := pace(before.values()):
        time = f", about {_time(todo_s, speed, 'the results there')}"
    else:
        time = f", about {_time(todo_s, usual, 'the last run here')}" if usual else ""
    return [str(agenda), f"about {clock(todo_s)} of audio to speak{time}"]


def _time(audio_s: float, speed: float, of: str) -> str:
    return f"{clock(audio_s / speed)} at the speed of {of} ({speed:.2f}x real time)"


def _reason(utterance: Utterance, last: Result | None, now: Fingerprint, out: Path) -> str | None:
    """Why a line is spoken; None when its file is as it would be. Cheap questions come first."""
    job = utterance.job
    if last is None:
        return NEW
    if not last.ok:
        return FAILED
    then = read_fingerprint(last.fingerprint)
    if then is None:
        return "of another version"
    changed = now.difference(then, last.seed)
    if changed is not None:
        return f"{changed} changed"
    if last.out != shown_path(job.out, out):
        return "name changed"
    try:
        return None if content_digest(job.out) == last.sha256 else "file changed"
    except FileNotFoundError:
        return "file missing"
    except OSError:
        return "file unreadable"
