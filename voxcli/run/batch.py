"""A run: from a plan to files, results and a summary.

Lines that were refused while planning are reported and recorded first. A model is loaded only if something is left to
speak. A `Backend` speaks: one engine in this process, or workers elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Protocol

from voxcli.artifacts.artifacts import Artifacts
from voxcli.artifacts.outdated import OutdatedSubtitles
from voxcli.check.checker import Checker
from voxcli.check.earlier import heard_again, is_current, may_improve
from voxcli.check.options import CheckOptions
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import VoxError
from voxcli.files.sync import sync_notice
from voxcli.files.write import prepare_folder, sweep
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.history import Earlier
from voxcli.jobs.places import check_approved, check_places
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.rerun import CHANGED, Rerun
from voxcli.jobs.result import Outcome, Result, failure, skipped
from voxcli.jobs.sharedvoices import SharedVoices, own_voices, rule_of
from voxcli.jobs.takes import takes_of
from voxcli.jobs.verdicts import as_approved
from voxcli.model.hub import ResolvedModel, model_identity, resolve_model
from voxcli.run.lock import FolderLock
from voxcli.run.profile import EARLIER, StageTimer
from voxcli.run.progress import Display, ProgressKind
from voxcli.run.results import ResultLog
from voxcli.run.resume import ResumePlan, make_resume_plan
from voxcli.run.summary import Summary
from voxcli.run.throughput import remember
from voxcli.terminal import counted
from voxcli.voices.spoken import SpokenVoice

USUAL_RATE = 48_000  # the full model's sample rate; that of another model is unknown until it is loaded


class Backend(Protocol):
    """Speaks the utterances of a run.

    unrecorded: True if there may be files without a result, once the outcomes have ended.
    check:      how files are checked; None: they are not.
    """

    unrecorded: bool
    check: CheckOptions | None

    def outcomes(self, rounds: Iterable[list[Utterance]], run: BatchRun) -> Generator[Outcome, None, None]:
        """Yield one outcome per utterance, as they finish. Raises VoxError when no more can be spoken.

        rounds: lists of utterances. A list depends on the outcomes of those before: ask for it when they have been
                yielded.
        """


@dataclass
class BatchRun:
    """State shared by the parts of a run.

    out:        the output folder; paths in results are relative to it.
    log:        the results log; None if results are not recorded.
    rerun:      which lines of an earlier run are spoken again.
    backend:    speaks the lines.
    last_death: Unix time at which a worker of this run last died; its unfinished files are older.
    segments:   number of requests to come, at most.
    mended:     how many results of earlier runs were appended again.
    """

    plan: Plan
    out: Path
    options: ModelOptions
    display: Display
    log: ResultLog | None = None
    rerun: Rerun = CHANGED
    timer: StageTimer = field(default_factory=StageTimer)
    backend: Backend = field(default_factory=lambda: LocalBackend())
    last_death: float | None = None
    segments: int = 0
    _kept: list[Outcome] = field(default_factory=list)
    _drawing: SharedVoices | None = None
    _spoken: dict[str, SpokenVoice] = field(default_factory=dict)
    mended: int = 0

    @cached_property
    def earlier(self) -> Earlier:
        """What earlier runs recorded; nothing if results are not recorded."""
        return Earlier(self.out, self.log.history if self.log is not None else {})

    @cached_property
    def checker(self) -> Checker | None:
        """Listens to files; to be entered where it is used. Raises MissingExtra or ModelError if it can't work."""
        return None if self.backend.check is None else Checker(self.backend.check, self.display.notify)

    @cached_property
    def model(self) -> ResolvedModel:
        """The model's checkpoint. Raises ModelError when it is missing or damaged."""
        return resolve_model(self.options.model, self.display.notify)

    @property
    def model_name(self) -> str:
        """The model's name for people, with its device if it was loaded; empty if this run has no text to speak."""
        return self.display.summary.model or (self.model.name if self.plan.utterances else "")

    @cached_property
    def identity(self) -> str:
        """Identity of the model and its adapter."""
        return model_identity(filter(None, (self.model.folder, self.options.lora)))

    def outcomes(self) -> Generator[Outcome, None, None]:
        """Yield one outcome per take of the plan. Takes that are spoken come last."""
        spoken, unspoken = replace(self.plan, refused=[], skipped=[]), replace(self.plan, utterances=[])
        yield from self._unspoken(self._compared(unspoken, None))
        for warning in (*self.plan.notes, *self.plan.warnings):
            self.display.notify(warning)
        if not spoken.utterances:
            return
        rounds = self._rounds(spoken)
        first = next(rounds, None)
        yield from self._drained()
        if first is not None:
            self.segments = sum(len(utterance.segments) * utterance.job.takes for utterance in self.plan.utterances)
            with closing(self.backend.outcomes(chain([first], rounds), self)) as outcomes:
                for outcome in outcomes:
                    if self._drawing is not None:
                        self._draw(outcome, self._drawing)
                    else:
                        yield outcome
                    yield from self._drained()
            yield from self._drained()

    def keep_voice(self, identity: str, voice: SpokenVoice) -> None:
        """Take the voice of a line that gives one; its outcome follows."""
        self._spoken[identity] = voice

    def _drained(self) -> Iterator[Outcome]:
        kept, self._kept = self._kept, []
        yield from kept

    def _draw(self, outcome: Outcome, voices: SharedVoices) -> None:
        """Take the outcome of a line that was spoken for its voice."""
        message = voices.take(outcome, self._spoken.pop(outcome.job.id, None), self.encoder)
        if message is not None:
            self.display.notify(message)

    def _rounds(self, plan: Plan) -> Iterator[list[Utterance]]:
        """Yield the lines to speak: first those that voices are drawn with, again and again until these are there."""
        if self.log is None:
            yield self._compared(plan, None).todo
            return
        rule, model = rule_of(plan, self.earlier), self._known_identity()
        if rule == "same":
            voices = SharedVoices(plan, self.earlier, self.rerun)
            while leaders := voices.leaders():
                self._drawing = voices
                yield leaders
            self._drawing = None
            plan = replace(plan, utterances=voices.voiced())
        resume_plan = self._compared(plan, model)
        if self.earlier.histories:
            self.display.notify(str(resume_plan))
        self._kept += self._unspoken(resume_plan, last=True)
        if (resume_plan.todo or rule == "own before") and (message := own_voices(plan, rule)) is not None:
            self.display.notify(message)
        if resume_plan.todo:
            yield resume_plan.todo

    def encoder(self) -> str:
        """Return the identity of the model's voice encoder, which its voice files name."""
        from voxcli.model.weights import encoder_identity

        return encoder_identity(self.model.folder)

    def _compared(self, plan: Plan, model: str | None) -> ResumePlan:
        """Compare lines with earlier results. model: its identity; None for lines that are not spoken."""
        if self.log is None:
            return ResumePlan(list(takes_of(plan.utterances)), refused=plan.refused, skipped=plan.skipped)
        with self.timer(EARLIER):
            return make_resume_plan(plan, self.earlier, model, self.rerun)

    def _unspoken(self, resume_plan: ResumePlan, *, last: bool = False) -> list[Outcome]:
        """Record and return the outcomes of lines that are not spoken now. last: the plan of the lines to speak."""
        refused = [replace(failure(job, error, self.out), refused=True) for job, error in resume_plan.refused]
        wordless = [skipped(job, pause_s, self.out) for job, pause_s in resume_plan.skipped]
        if self.log is not None:
            new = [outcome.result for outcome in (*refused, *wordless) if not self._is_recorded(outcome.result)]
            if resume_plan.mended or new:
                self.log.append(*resume_plan.mended, *new)
        for note in resume_plan.notes:
            self.display.notify(note)
        if self.log is not None and self.checker is not None and resume_plan.kept:
            self._listen(resume_plan, self.checker, self.log)
        self.mended = self.log.added if self.log is not None else 0
        self.display.planned(resume_plan, last=last)
        return [*refused, *wordless, *resume_plan.kept]

    def interrupted(self) -> str:
        """Describe what an interrupted run has done, and how to go on. Files may be recorded after the interrupt."""
        done = self.display.summary.kept + (self.log.added - self.mended if self.log is not None else 0)
        again = "--force speaks them again" if self.rerun.policy == "all" else "the same command goes on"
        return f"{done} of {counted(self.display.total, self.display.summary.noun)} done; {again}"

    def _is_recorded(self, result: Result) -> bool:
        """Whether an earlier run recorded the same about a line without words."""
        history = self.earlier.histories.get(result.key)
        if history is None or result.status != "skipped":
            return False
        return replace(history.last, finished=None) == replace(result, finished=None)

    def _known_identity(self) -> str:
        """Identity of the model, in its former form if the earlier results use that."""
        named = {result.fingerprint.get("model") for result in self.earlier.files if result.fingerprint}
        if named <= {self.identity}:
            return self.identity
        former = model_identity(filter(None, (self.model.folder, self.options.lora)), former=True)
        return former if former in named else self.identity

    def _listen(self, resume_plan: ResumePlan, checker: Checker, log: ResultLog) -> None:
        """Check files of earlier runs that have no check by the same recognizer and limits.

        Lines that are doubtful and may still be spoken again are moved to those to speak.
        """
        kept, heard = [], 0
        stale = sum(not is_current(outcome.result, checker) for outcome in resume_plan.kept)
        if stale:
            self.display.notify(f"listening to {counted(stale, 'file')} made before")
        with checker if stale else nullcontext(), self.timer("check"):
            for found, is_new in heard_again(resume_plan.kept, checker):
                outcome = replace(found, result=as_approved(found.result))
                heard += is_new
                if is_new:
                    log.append(outcome.result)
                again = resume_plan.again.get(outcome.job.key) if self.rerun.policy != "failed" else None
                if again is not None and may_improve(outcome.result, checker.options.retries):
                    resume_plan.todo.append(again)
                else:
                    kept.append(outcome)
        if moved := len(resume_plan.kept) - len(kept):
            self.display.notify(f"{counted(moved, f'doubtful {resume_plan.noun}')} to speak again")
        resume_plan.kept = kept


class LocalBackend:
    """One engine in this process."""

    unrecorded = False

    def __init__(self, check: CheckOptions | None = None):
        self.check = check

    def outcomes(self, rounds: Iterable[list[Utterance]], run: BatchRun) -> Generator[Outcome, None, None]:
        with run.timer("loading the model"):
            from voxcli.run.session import Session  # imports torch, so only when there is something to speak
            from voxcli.voices.prefetch import VoicePrefetcher

        checker = run.checker
        with cleanup(), checker or nullcontext(), interruptible():
            with run.timer("loading the model"):
                loaded = load_engine(run.options, run.display.notify, run.model, run.segments)
                if checker is not None:
                    checker.wait()
            run.display.started(loaded)
            for utterances in rounds:
                jobs = [utterance.job for utterance in utterances]
                session = Session(
                    loaded.engine,
                    utterances,
                    run.out,
                    log=None if utterances[0].gives_voice else run.log,
                    notify=run.display.notify,
                    timer=run.timer,
                    voices=VoicePrefetcher(loaded.engine, jobs, encoder=loaded.encoder, notify=run.display.notify),
                )
                session.checker = checker
                session.keep_voice = run.keep_voice
                yield from session.run()
        remember(run.options, run.display.summary.audio_s, run.display.summary.wall_s)


def speak_all(
    plan: Plan,
    out: Path,
    options: ModelOptions,
    *,
    rerun: Rerun = CHANGED,
    artifacts: Artifacts | None = None,
    timer: StageTimer | None = None,
    backend: Backend | None = None,
    progress: ProgressKind = "auto",
) -> Summary:
    """Run a plan: write its files and results.jsonl into the folder `out`. Jobs that fail are reported and counted.

    rerun:     which lines of an earlier run are spoken again.
    artifacts: made of all files at the end, such as the joined file or the report; None: none.
    timer:     records the time of each stage.
    backend:   speaks the lines; None: one engine in this process.
    progress:  how progress is shown on stderr.

    Raises VoxError when the run as a whole can't go on.
    """
    began, backend, timer = time.time(), backend or LocalBackend(), timer or StageTimer()
    artifacts = artifacts or Artifacts(())
    prepare_folder(out)
    artifacts.prepare(USUAL_RATE)
    with (
        cleanup(),
        Display(plan, kind=progress) as display,
        FolderLock(out, display.notify) as lock,
        timer.around(EARLIER, ResultLog(out)) as log,
        interruptible(),
    ):
        if notice := sync_notice(out):
            display.notify(notice)
        run = BatchRun(plan, out, options, display, log, rerun, timer, backend)
        with timer(EARLIER):
            check_approved(plan, run.earlier, rerun)
            if not lock.left_over:
                check_places(plan, run.earlier, rerun, artifacts.beside)
        outdated = OutdatedSubtitles(run.earlier, artifacts.subtitles)
        try:
            with closing(run.outcomes()) as outcomes:  # finished lines are recorded before the log is closed
                for outcome in outcomes:
                    if outcome.error is not None:
                        display.notify(f"{outcome.job}: {outcome.error}")
                    display.landed(outcome)
                    artifacts.add(outcome)
                    outdated.add(outcome)
        except BaseException as error:
            if log.broken or backend.unrecorded:
                lock.keep()  # tells the next run that there are files without a result
            if isinstance(error, KeyboardInterrupt | SystemExit) and not log.broken and display.total:
                display.notify(run.interrupted())
            raise
        with timer("joined file, subtitles, report"):
            artifacts.model = run.model_name
            try:
                artifacts.make(display.notify)
            except VoxError as error:
                display.summary.error = error
        if outdated.note is not None:
            display.notify(outdated.note)
        sweep(artifacts.folders, began)
        # temporary files of a worker that died in this run are older than its death
        sweep({out, *(utterance.job.out.parent for utterance in plan.utterances)}, run.last_death or began)
    return display.summary
