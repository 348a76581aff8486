"""Resume: keep the lines whose file exists and would come out the same, speak the rest.

The last successful result counts: a later failure did not remove its file. A line without a seed is spoken again with
the seed drawn for it before, so a lost file comes back unchanged and an edited text keeps its voice. `--force` draws a
new seed.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from voxcli.audio.formats import has_bitrate
from voxcli.check.earlier import first_seed, next_seed
from voxcli.errors import InputError, OutputError
from voxcli.files.names import LOCK_NAME, one_name
from voxcli.files.read import content_digest
from voxcli.jobs.fingerprint import Fingerprint, _digest, _named, read_fingerprint
from voxcli.jobs.job import Job
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.result import Outcome, Result, shown_path
from voxcli.run.results import History, read_history
from voxcli.run.throughput import pace
from voxcli.terminal import counted, format_duration

RerunPolicy = Literal["changed", "failed", "all"]

NEW, FAILED, DOUBTFUL = "new", "failed before", "doubtful before"


@dataclass
class ResumePlan:
    """A plan compared with the results of earlier runs.

    todo:     utterances to speak, in the plan's order, with fingerprints.
    kept:     outcomes of unchanged lines, with their earlier results.
    mended:   successful results of kept lines to append again, because the last result on file is another one.
    left:     number of lines that `--retry-failed` skips.
    reasons:  number of lines to speak, by reason.
    again:    the utterances of kept lines, by id, as they are spoken if the check asks for that.
    """

    todo: list[Utterance] = field(default_factory=list)
    kept: list[Outcome] = field(default_factory=list)
    mended: list[Result] = field(default_factory=list)
    left: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    again: dict[str, Utterance] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a one-line description for people."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        left = f", {self.left} left for a run without --retry-failed" if self.left else ""
        kept = counted(len(self.kept), "line")
        return f"{kept} done before and unchanged, {len(self.todo)} to speak{why and f' ({why})'}{left}"


def make_resume_plan(
    plan: Plan, before: Mapping[str, History], out: Path, model: str | None, rerun: RerunPolicy
) -> ResumePlan:
    """Compare a plan with the results of earlier runs; reads the files of lines that may be kept.

    before: history of each id in the folder `out`.
    model:  identity of the model; None: models are not compared.

    Raises OutputError when a file exists but can't be read.
    """
    resume_plan, fingerprints, earlier = ResumePlan(), Fingerprints(model), _Earlier(before)
    for utterance in plan.utterances:
        history = earlier.of(utterance.job)
        now = fingerprints.of(utterance)
        reason = "--force" if rerun == "all" and history is not None else _reason(utterance, history, now, out)
        if rerun == "failed" and reason is None and _is_doubtful(utterance, history):
            reason = DOUBTFUL
        if history is not None and history.good is not None and reason is None:
            good = replace(history.good, id=utterance.job.id, extra=utterance.job.extra or None)
            resume_plan.kept.append(Outcome(utterance.job, good, before=True))
            resume_plan.again[utterance.job.id] = replace(utterance, seed=_seed(history), fingerprint=now)
            resume_plan.mended += [] if history.last == good else [good]
        elif rerun == "failed" and reason not in (FAILED, DOUBTFUL):
            resume_plan.left += 1
        else:
            seed = None if rerun == "all" else _seed(history, untried=reason == DOUBTFUL)
            resume_plan.todo.append(replace(utterance, seed=seed, fingerprint=now))
            resume_plan.reasons[reason or NEW] += 1
    return resume_plan


Beside = Callable[[Job], Iterable[Path]]


def nothing(job: Job) -> Iterable[Path]:
    """Return no additional files; the default of `Beside`."""
    return ()


def check_places(
    plan: Plan, before: Mapping[str, History], out: Path, rerun: RerunPolicy, beside: Beside = nothing
) -> None:
    """Raise OutputError if a file would be replaced that no result describes: it may not be ours.

    beside: further files written for a job, such as subtitles. They are ours if the job's file is.
    """
    earlier = _Earlier(before)
    ours = {one_name(history.good.out) for history in before.values() if history.good is not None}
    in_the_way = [
        (job.line, path)
        for job in (utterance.job for utterance in plan.utterances)
        if rerun == "changed" or (rerun == "failed" and _failed(earlier.of(job)))
        if one_name(shown_path(job.out, out)) not in ours
        for path in (job.out, *beside(job))
        if os.path.lexists(path) and not os.path.isdir(path)  # a folder is never replaced
    ]
    if in_the_way:
        (_, first), others = min(in_the_way), len(in_the_way) - 1
        more = f" (and {counted(others, 'other file')})" if others else ""
        raise OutputError(
            f"{first}{more} exists but is not in results.jsonl: move it away, choose another folder, "
            "or use --force to replace it"
        )


def check_retry(out: Path, rerun: RerunPolicy) -> None:
    """Raise InputError for `--retry-failed` in a folder without results."""
    if rerun == "failed" and not read_history(out):
        raise InputError(f"--retry-failed: there are no results in {out}; omit it to speak all lines")


class _Earlier:
    """Histories by id, ignoring case as manifests do."""

    def __init__(self, histories: Mapping[str, History]):
        self._histories = histories
        self._names = {one_name(identity): history for identity, history in histories.items()}

    def of(self, job: Job) -> History | None:
        return self._histories.get(job.id) or self._names.get(one_name(job.id))


def _failed(history: History | None) -> bool:
    return history is not None and (history.last.failed or history.last.doubtful)


def preview(
    plan: Plan, out: Path, rerun: RerunPolicy, usual: float | None = None, beside: Beside = nothing
) -> list[str]:
    """Describe for people what a run would do and how long it would take.

    usual: seconds of audio that this machine makes per second, used when the results do not show a speed.
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
    return [str(resume_plan), f"about {format_duration(todo_s)} of audio to speak{time}"]


def _time(audio_s: float, speed: float, of: str) -> str:
    return f"{format_duration(audio_s / speed)} at the speed of {of} ({speed:.2f}x real time)"


def _seed(history: History | None, *, untried: bool = False) -> int | None:
    """Return the seed drawn for a line before: that of its last file, else that of its last failure.

    untried: the first seed that the check of a doubtful line has not heard.
    """
    if history is None:
        return None
    result = history.good or history.last
    return next_seed(result) if untried else first_seed(result)


def _is_doubtful(utterance: Utterance, history: History | None) -> bool:
    """Whether other seeds may help a line: those of a line with a seed of its own are always the same."""
    doubtful = history is not None and history.good is not None and history.good.doubtful
    return doubtful and utterance.job.settings.seed is None


def _reason(utterance: Utterance, history: History | None, now: Fingerprint, out: Path) -> str | None:
    """Return why a line must be spoken; None if its file is up to date."""
    if history is None:
        return NEW
    if history.good is None:
        return FAILED if history.last.failed else "text changed"  # the earlier text had no words
    changed = _change(utterance.job, history.good, now, out)
    return FAILED if changed is not None and history.last.failed else changed


def _change(job: Job, good: Result, now: Fingerprint, out: Path) -> str | None:
    """Return what has changed since a line's file was made; None if nothing. Cheap checks come first."""
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
        if _is_file(job.out):  # it may be unchanged: a network share fails, or permissions are missing
            raise OutputError(f"can't read the existing file {job.out}: {error.strerror or error}") from error
        return "file unreadable"


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except NotADirectoryError:
        return False
    except OSError:
        return True  # unknown: assume that it is a file


def _lead(utterance: Utterance) -> list[float]:
    return [utterance.lead_s] if utterance.lead_s else []


class Fingerprints:
    """Computes the fingerprints of one run. Each recording is read once."""

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
        """Return the digest of a job's voice files (None if it has none) and its settings by name."""
        parts = (job.ref, job.prompt_audio, job.voice)
        voice = _digest([path and self._content(path) for path in parts]) if any(parts) else None
        settings = job.settings
        if settings.bitrate is not None and not has_bitrate(job.format):
            settings = replace(settings, bitrate=None)
        tags = {"tags": dict(job.tags)} if job.tags else {}
        return voice, _named(settings) | {"format": job.format} | tags

    def _content(self, path: Path) -> str:
        if path not in self._contents:
            try:
                self._contents[path] = content_digest(path)
            except OSError:
                self._contents[path] = ""  # removed since planning: its lines will fail and report it
        return self._contents[path]
