"""What an earlier run left to do: lines whose file is there and would come out the same are kept, the rest is spoken.

A line without a seed keeps the one drawn for it when it is spoken again, so that its file comes back as it was, and an
edited text in the voice it had. `--force` draws anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voxcli.jobs.fingerprint import _digest, _named

if TYPE_CHECKING:
    from voxcli.jobs.plan import Utterance

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from voxcli.files.read import content_digest
from voxcli.jobs.fingerprint import Fingerprint, read_fingerprint
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.result import Outcome, Result, shown_path
from voxcli.run.results import read_results
from voxcli.run.throughput import pace
from voxcli.terminal import clock

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


class Fingerprints:
    """Makes the fingerprints of one run; reads each recording once."""

    def __init__(self, model: str | None):
        self.model = model
        self._contents: dict[Path, str] = {}

    def of(self, utterance: Utterance) -> Fingerprint:
        job = utterance.job
        parts = (job.ref, job.prompt_audio, job.voice)
        return Fingerprint(
            text=_digest([utterance.prompt_text, *([piece.text, piece.pause_s] for piece in utterance.pieces)]),
            voice=_digest([path and self._content(path) for path in parts]) if any(parts) else None,
            settings=_named(job.settings) | {"format": job.format},
            model=self.model,
            seed=job.settings.seed,
        )

    def _content(self, path: Path) -> str:
        if path not in self._contents:
            try:
                self._contents[path] = content_digest(path)
            except OSError:
                self._contents[path] = ""  # gone since it was looked at: its lines will fail and say so
        return self._contents[path]
