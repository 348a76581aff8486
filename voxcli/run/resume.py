"""Resume: keep the lines whose file exists and would come out the same, speak the rest.

The last successful result counts: a later failure did not remove its file. A line without a seed is spoken again with
the seed drawn for it before, so a lost file comes back unchanged and an edited text keeps its voice. `--force` draws a
new seed.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from voxcli.audio.formats import has_bitrate
from voxcli.check.earlier import first_seed, moved_seed, next_seed
from voxcli.errors import InputError, OutputError, VoxError
from voxcli.files.names import LOCK_NAME
from voxcli.files.read import content_digest
from voxcli.jobs.fingerprint import Fingerprint, _digest, _named, read_fingerprint
from voxcli.jobs.history import Earlier, History
from voxcli.jobs.job import Job
from voxcli.jobs.places import Beside, check_approved, check_places, nothing
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.rerun import CHANGED, Rerun, RerunPolicy
from voxcli.jobs.result import Outcome, Result, shown_path
from voxcli.jobs.takes import drawn_seed, is_free, next_free, take_of
from voxcli.jobs.verdicts import UNDECIDED, Decision, as_approved, decide
from voxcli.run.results import read_history
from voxcli.run.throughput import pace
from voxcli.terminal import counted, format_duration

NEW, FAILED, DOUBTFUL, REJECTED = "new", "failed before", "doubtful before", "rejected"
MAX_NAMED = 3  # lines named in a message


@dataclass
class ResumePlan:
    """A plan compared with the results of earlier runs.

    todo:     takes to speak, in the plan's order, with fingerprints.
    kept:     outcomes of unchanged lines, with their earlier results.
    mended:   results of earlier runs to append again, because they have changed or are not the last ones on file.
    refused:  lines that can't be spoken, with the reason.
    skipped:  lines without words, and the seconds of silence they stand for.
    left:     number of lines that are left for a run without `options`.
    options:  those that restrict which lines are spoken.
    reasons:  number of lines to speak, by reason.
    notes:    for people.
    noun:     what is counted: lines, or the takes of lines.
    again:    the utterances of kept takes that are not approved, by key, as they are spoken if the check asks for that.
    """

    todo: list[Utterance] = field(default_factory=list)
    kept: list[Outcome] = field(default_factory=list)
    mended: list[Result] = field(default_factory=list)
    refused: list[tuple[Job, VoxError]] = field(default_factory=list)
    skipped: list[tuple[Job, float]] = field(default_factory=list)
    left: int = 0
    options: str = ""
    reasons: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    noun: str = "line"
    again: dict[str, Utterance] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a one-line description for people."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())
        left = f", {self.left} left for a run without {self.options}" if self.left else ""
        kept = counted(len(self.kept), self.noun)
        return f"{kept} done before and unchanged, {len(self.todo)} to speak{why and f' ({why})'}{left}"

    @property
    def takes(self) -> int:
        """How many takes there are, of which lines that can't be spoken and lines without words have one."""
        return len(self.todo) + len(self.kept) + len(self.refused) + len(self.skipped)


def make_resume_plan(plan: Plan, earlier: Earlier, model: str | None, rerun: Rerun = CHANGED) -> ResumePlan:
    """Compare a plan with the results of earlier runs; reads the files of lines that may be kept.

    model: its identity; None: models are not compared.

    Raises OutputError when a file exists but can't be read.
    """
    comparison = _Comparison(earlier, model, rerun)
    if any(job.takes > 1 for job in plan.jobs):
        comparison.plan.noun = "take"
    for job, error in plan.refused:
        comparison.add_refused(job, error)
    for job, pause_s in plan.skipped:
        comparison.add_skipped(job, pause_s)
    for utterance in plan.utterances:
        comparison.add(utterance)
    comparison.plan.notes += comparison.notes()
    return comparison.plan


class _Comparison:
    def __init__(self, earlier: Earlier, model: str | None, rerun: Rerun):
        self.earlier = earlier
        self.out = earlier.folder
        self.fingerprints = Fingerprints(model)
        self.rerun = rerun
        self.plan = ResumePlan(options=rerun.options)
        self._though: list[tuple[Job, str]] = []  # approved lines that are kept though they changed
        self._unknown: list[Job] = []  # takes with a verdict that do not exist
        self._stale: list[Job] = []  # takes with a verdict that were spoken again since
        self._replaced: list[tuple[Job, str]] = []  # approved takes that are spoken again

    def notes(self) -> Iterator[str]:
        """Report to people which approvals differ from what the lines are now."""
        if self._though:
            yield f"{counted(len(self._though), 'approved line')} kept unchanged: {_listed(self._though)}"
        if self._unknown:
            yield f"verdicts on takes that {self.out} does not contain do not count: {_named_lines(self._unknown)}"
        if self._stale:
            yield (
                f"verdicts on takes that were spoken again since do not count: {_named_lines(self._stale)}; "
                "listen to them and save the review again from the report"
            )
        if self._replaced:
            yield (
                f"{counted(len(self._replaced), 'approved take')} spoken again, to be judged again: "
                f"{_listed(self._replaced)}; with --review, approved takes stay"
            )

    def add_refused(self, job: Job, error: VoxError) -> None:
        """Compare a line that can't be spoken."""
        if self._is_approved(job, "can't be spoken any more"):
            return
        if self.rerun.selects(job):
            self.plan.refused.append((job, error))
        else:
            self.plan.left += 1

    def add_skipped(self, job: Job, pause_s: float) -> None:
        """Compare a line without words."""
        if not self._is_approved(job, "has no words any more"):
            self.plan.skipped.append((job, pause_s))

    def _decided(self, job: Job, takes: Mapping[int, History]) -> Decision:
        """Return what holds for a line. A verdict that does not count is reported."""
        good = {take: history.good for take, history in takes.items() if history.good is not None}
        decision = decide(self.rerun.verdict(job), good)
        if decision.missing is not None:
            self._unknown.append(replace(job, take=decision.missing))
        if decision.stale is not None:
            self._stale.append(replace(job, take=decision.stale))
        return decision

    def _is_approved(self, job: Job, how: str) -> bool:
        """Keep the takes of a line that is approved and can no longer be spoken. Returns whether it is approved."""
        takes = self.earlier.takes_of(job)
        decision = self._decided(job, takes) if takes and self.rerun.verdicts is not None else UNDECIDED
        if decision.approved is None:
            return False
        self._though.append((job, how))
        self._keep_takes(job, decision, takes)
        return True

    def add(self, utterance: Utterance) -> None:
        """Compare the takes of a line."""
        job = utterance.job
        takes = self.earlier.takes_of(job)
        decision = self._decided(job, takes) if takes or self.rerun.verdict(job) else UNDECIDED
        numbers = range(1, job.takes + 1)
        if decision.approved is not None and self.rerun.verdicts is not None:
            self._approved(utterance, decision, takes)
            return
        for take in numbers:
            history = takes.get(take)
            good = history.good if history is not None else None
            self._compare_take(take_of(utterance, take, decision.seeds, good), decision, history)
        if decision.approved is not None and decision.approved not in numbers:
            self._keep_further(utterance, decision, takes[decision.approved])

    # -- lines without an approval ----------------------------------------------------------------------------
    def _compare_take(self, utterance: Utterance, decision: Decision, history: History | None) -> None:
        take, good = utterance.job.take, history.good if history is not None else None
        now = self.fingerprints.of(utterance)
        reason = _reason(utterance, history, now, self.out)
        unchanged = reason is None
        if self.rerun.policy == "all" and history is not None:
            reason = "--force"
        elif decision.rejects(good):
            reason = REJECTED
        elif (
            unchanged
            and self.rerun.policy == "failed"
            and decision.approved is None
            and good is not None
            and good.doubtful
        ):
            reason = DOUBTFUL
        spoken = self.rerun.selects(utterance.job) and (self.rerun.policy != "failed" or reason in (FAILED, DOUBTFUL))
        if reason is None or (unchanged and not spoken):
            assert good is not None, "only a file can be unchanged"
            self._keep(utterance.job, good, decision)
            if reason is None and decision.approved is None and self.rerun.selects(utterance.job):
                again = replace(utterance, seed=self._seed(now, history, decision), fingerprint=now)
                self.plan.again[utterance.job.key] = replace(again, review=decision.review_again(take, good))
        else:
            self._mark(take, history, decision)
            if spoken:
                review = decision.review_again(take, good)
                if good is not None and take == decision.approved:
                    if reason == "file missing" and good.exact:  # the same audio
                        review = decision.review(take, good)
                    else:
                        self._replaced.append((utterance.job, reason or NEW))
                seed = self._seed(now, history, decision, untried=reason == DOUBTFUL)
                self.plan.todo.append(replace(utterance, seed=seed, review=review, fingerprint=now))
                self.plan.reasons[reason or NEW] += 1
            else:
                self.plan.left += 1

    def _keep_further(self, utterance: Utterance, decision: Decision, history: History) -> None:
        """Keep an approved take beyond the number of takes that is asked for now, if it is unchanged."""
        utterance = take_of(utterance, history.last.take or 1, decision.seeds, history.good)
        if history.good is not None and _reason(utterance, history, self.fingerprints.of(utterance), self.out) is None:
            self._keep(utterance.job, history.good, decision)

    def _seed(
        self, now: Fingerprint, history: History | None, decision: Decision, *, untried: bool = False
    ) -> int | None:
        """Return the seed to begin a take with: that of its last file, else that of its last failure.

        A take with a seed of its own begins with that (None), unless the same line went on with other seeds before.

        untried: the first seed that the check of a doubtful take has not heard.
        """
        before = (history.good or history.last) if history is not None and self.rerun.policy != "all" else None
        if now.seed is not None and not untried:
            return self._moved(now, before, decision)
        seed = None
        if before is not None:
            seed = (next_seed if untried else first_seed)(before)
        if now.seed is not None and seed is not None:
            return next_free(seed, decision.seeds)
        if seed is None:
            return drawn_seed(decision.seeds) if decision.seeds else None
        return seed if is_free(seed, decision.seeds) else drawn_seed(decision.seeds)

    def _moved(self, now: Fingerprint, before: Result | None, decision: Decision) -> int | None:
        """Return the seed of a take's earlier file if it is not its own and the take would come out the same."""
        then = read_fingerprint(before.fingerprint) if before is not None else None
        if before is None or then is None or now.seed is None or decision.rejects(before):
            return None
        return None if now.difference(then, before.seed) else moved_seed(before, now.seed)

    def _keep(self, job: Job, good: Result, decision: Decision) -> None:
        history = self.earlier.takes_of(job)[job.take]
        take, review = job.recorded_take or good.take, decision.review(job.take, good)
        good = as_approved(replace(good, id=job.id, extra=job.extra or None, take=take, review=review))
        self.plan.kept.append(Outcome(job, good, before=True))
        self.plan.mended += [] if history.last == good else [good]

    def _mark(self, take: int, history: History | None, decision: Decision) -> None:
        """Record a verdict on the file of a take that is not kept, so that it counts whatever happens to this run."""
        if history is None or history.good is None:
            return
        review = decision.review(take, history.good)
        if review != history.good.review:
            failed = [history.last] if history.last.failed else []
            self.plan.mended += [replace(history.good, review=review), *failed]

    # -- approved lines ---------------------------------------------------------------------------------------
    def _approved(self, utterance: Utterance, decision: Decision, takes: Mapping[int, History]) -> None:
        """Keep an approved line as it is. If its file is missing, it is made again, unless it would differ."""
        assert decision.approved is not None, "called for approved lines"
        good = takes[decision.approved].good
        assert good is not None, "only takes with a file are approved"
        job, utterance = utterance.job, take_of(utterance, decision.approved, decision.seeds, good)
        now = self.fingerprints.of(utterance)
        changed = _change(utterance.job, good, now, self.out)
        if changed is not None and not os.path.lexists(self._place(good)):
            seed = good.seed if now.seed is None else self._moved(now, good, decision)
            self._restore(replace(utterance, seed=seed, fingerprint=now), decision, good, changed)
            takes = {take: history for take, history in takes.items() if take != decision.approved}
        elif changed is not None:
            self._though.append((utterance.job, changed))
        self._keep_takes(job, decision, takes)

    def _restore(self, utterance: Utterance, decision: Decision, good: Result, changed: str) -> None:
        job = utterance.job
        if changed != "file missing":
            reason = f"it is approved, its file is missing and its {changed}: put the file back, or reject the take"
            self.plan.refused.append((job, OutputError(reason)))
        elif not self.rerun.selects(job) or self.rerun.policy == "failed":
            self.plan.left += 1
        else:
            review = decision.review(job.take, good)
            if not good.exact and review is not None:  # it may differ, so that it is to be heard again
                review = decision.review_again(job.take, good)
            self.plan.todo.append(replace(utterance, review=review))
            self.plan.reasons["file missing"] += 1

    def _keep_takes(self, job: Job, decision: Decision, takes: Mapping[int, History]) -> None:
        """Keep the approved take and the others that have a file."""
        for take, history in sorted(takes.items()):
            good = history.good
            if good is not None and os.path.lexists(self._place(good)):
                self._keep(replace(job, take=take, out=self._place(good)), good, decision)

    def _place(self, good: Result) -> Path:
        return self.out / good.out


def _named_lines(lines: Sequence[Job]) -> str:
    return ", ".join(map(str, lines[:MAX_NAMED])) + ", ..." * (len(lines) > MAX_NAMED)


def _listed(lines: Sequence[tuple[Job, str]]) -> str:
    shown = ", ".join(f"{job} ({why})" for job, why in lines[:MAX_NAMED])
    return shown + (f" and {len(lines) - MAX_NAMED} more" if len(lines) > MAX_NAMED else "")


def check_retry(out: Path, rerun: RerunPolicy) -> None:
    """Raise InputError for `--retry-failed` in a folder without results."""
    if rerun == "failed" and not read_history(out):
        raise InputError(f"--retry-failed: there are no results in {out}; omit it to speak all lines")


def preview(
    plan: Plan, earlier: Earlier, rerun: Rerun, usual: float | None = None, beside: Beside = nothing
) -> list[str]:
    """Describe for people what a run would do and how long it would take.

    usual: seconds of audio that this machine makes per second, used when the results do not show a speed.
    """
    check_approved(plan, earlier, rerun)
    if not os.path.lexists(earlier.folder / LOCK_NAME):
        check_places(plan, earlier, rerun, beside)
    if not earlier.histories:
        return [f"about {_time(plan.expected_s, usual, 'the last run here')}"] if usual and plan.expected_s else []
    resume_plan = make_resume_plan(plan, earlier, None, rerun)
    todo_s = sum(utterance.expected_s for utterance in resume_plan.todo)
    if not todo_s:
        return [*resume_plan.notes, str(resume_plan)]
    if speed := pace(earlier.files):
        time = f", about {_time(todo_s, speed, 'the results there')}"
    else:
        time = f", about {_time(todo_s, usual, 'the last run here')}" if usual else ""
    return [*resume_plan.notes, str(resume_plan), f"about {format_duration(todo_s)} of audio to speak{time}"]


def _time(audio_s: float, speed: float, of: str) -> str:
    return f"{format_duration(audio_s / speed)} at the speed of {of} ({speed:.2f}x real time)"


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
