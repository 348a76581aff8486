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
from voxcli.check.checker import Checker
from voxcli.check.earlier import heard_again, is_current, may_improve
from voxcli.check.options import CheckOptions
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import VoxError
from voxcli.files.sync import sync_notice
from voxcli.files.write import prepare_folder, sweep
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.result import Outcome, failure, skipped
from voxcli.jobs.sharedvoices import SharedVoices, own_voices, rule_of
from voxcli.model.hub import ResolvedModel, model_identity, resolve_model
from voxcli.run.lock import FolderLock
from voxcli.run.profile import EARLIER, StageTimer
from voxcli.run.progress import Display, ProgressKind
from voxcli.run.results import ResultLog
from voxcli.run.resume import RerunPolicy, ResumePlan, check_places, make_resume_plan, nothing
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
    check:      how files are checked; None: they are not.
    last_death: Unix time at which a worker of this run last died; its unfinished files are older.
    segments:   number of requests to come, at most.
    """

    plan: Plan
    out: Path
    options: ModelOptions
    display: Display
    log: ResultLog | None = None
    rerun: RerunPolicy = "all"
    timer: StageTimer = field(default_factory=StageTimer)
    last_death: float | None = None
    check: CheckOptions | None = None
    segments: int = 0
    _kept: list[Outcome] = field(default_factory=list)
    _drawing: SharedVoices | None = None
    _spoken: dict[str, SpokenVoice] = field(default_factory=dict)

    @cached_property
    def checker(self) -> Checker | None:
        """Listens to files; to be entered where it is used. Raises MissingExtra or ModelError if it can't work."""
        return None if self.check is None else Checker(self.check, self.display.notify)

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

    def outcomes(self, backend: Backend) -> Generator[Outcome, None, None]:
        """Yield one outcome per job of the plan. Jobs that are spoken come last."""
        refused = [failure(job, error, self.out) for job, error in self.plan.refused]
        if self.log is not None and refused:
            self.log.append(*(outcome.result for outcome in refused))
        yield from refused
        yield from self._skipped()
        for warning in (*self.plan.notes, *self.plan.warnings):
            self.display.notify(warning)
        if not self.plan.utterances:
            return
        rounds = self._rounds(self.log) if self.log is not None else iter([self.plan.utterances])
        first = next(rounds, None)
        yield from self._drained()
        if first is not None:
            self.segments = sum(len(utterance.segments) for utterance in self.plan.utterances)
            with closing(backend.outcomes(chain([first], rounds), self)) as outcomes:
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
        voice, seed = self._spoken.pop(outcome.job.id, None), outcome.result.seed
        if voice is not None and seed is not None and outcome.result.ok:
            message = voices.drawn(outcome.job, seed, voice, self._encoder())
            if message is not None:
                self.display.notify(message)

    def _rounds(self, log: ResultLog) -> Iterator[list[Utterance]]:
        """Yield the lines to speak: first those that voices are drawn with, again and again until these are there."""
        plan = self.plan
        rule, model = rule_of(plan.same_voice, plan.utterances, log.history), self._known_identity(log)
        if rule == "same":
            again, failed = self.rerun == "all", self.rerun == "failed"
            voices = SharedVoices(plan, self.out, log.history, again=again, failed=failed)
            while leaders := voices.leaders():
                self._drawing = voices
                yield leaders
            self._drawing = None
            plan = replace(plan, utterances=voices.voiced())
        resume_plan = self._compared(log, plan, model)
        self._kept += resume_plan.kept
        if (resume_plan.todo or rule == "own before") and (message := own_voices(plan, rule)) is not None:
            self.display.notify(message)
        if resume_plan.todo:
            yield resume_plan.todo

    def _encoder(self) -> str:
        from voxcli.model.weights import encoder_identity

        return encoder_identity(self.model.folder)

    def _skipped(self) -> list[Outcome]:
        """Return the outcomes of texts without words. They are recorded unless an earlier run recorded the same."""
        outcomes = [skipped(job, pause_s, self.out) for job, pause_s in self.plan.skipped]
        if self.log is None:
            return outcomes
        before = {identity: replace(history.last, finished=None) for identity, history in self.log.history.items()}
        results = [outcome.result for outcome in outcomes]
        if new := [result for result in results if before.get(result.id) != replace(result, finished=None)]:
            self.log.append(*new)
        return outcomes

    def _known_identity(self, log: ResultLog) -> str:
        """Identity of the model, in its former form if the earlier results use that."""
        fingerprints = (past.good.fingerprint for past in log.history.values() if past.good is not None)
        named = {fingerprint.get("model") for fingerprint in fingerprints if fingerprint}
        if named <= {self.identity}:
            return self.identity
        former = model_identity(filter(None, (self.model.folder, self.options.lora)), former=True)
        return former if former in named else self.identity

    def _compared(self, log: ResultLog, plan: Plan, model: str) -> ResumePlan:
        """model: its identity."""
        with self.timer(EARLIER):
            resume_plan = make_resume_plan(plan, log.history, self.out, model, self.rerun)
        if log.history:
            self.display.notify(str(resume_plan))
        if resume_plan.mended:
            log.append(*resume_plan.mended)
        if self.checker is not None and resume_plan.kept:
            self._listen(resume_plan, self.checker, log)
        self.display.summary.left = resume_plan.left
        return resume_plan

    def _listen(self, resume_plan: ResumePlan, checker: Checker, log: ResultLog) -> None:
        """Check files of earlier runs that have no check by the same recognizer and limits.

        Lines that are doubtful and may still be spoken again are moved to those to speak.
        """
        kept, heard = [], 0
        stale = sum(not is_current(outcome.result, checker) for outcome in resume_plan.kept)
        if stale:
            self.display.notify(f"listening to {counted(stale, 'file')} made before")
        with checker if stale else nullcontext(), self.timer("check"):
            for outcome, is_new in heard_again(resume_plan.kept, checker):
                heard += is_new
                if is_new:
                    log.append(outcome.result)
                if self.rerun != "failed" and may_improve(outcome.result, checker.options.retries):
                    resume_plan.todo.append(resume_plan.again[outcome.job.id])
                else:
                    kept.append(outcome)
        if again := len(resume_plan.kept) - len(kept):
            self.display.notify(f"{counted(again, 'doubtful line')} to speak again")
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
    rerun: RerunPolicy = "changed",
    artifacts: Artifacts | None = None,
    timer: StageTimer | None = None,
    backend: Backend | None = None,
    progress: ProgressKind = "auto",
) -> Summary:
    """Run a plan: write its files and results.jsonl into the folder `out`. Jobs that fail are reported and counted.

    rerun:     which lines of an earlier run are spoken again.
    artifacts: made of all files at the end, such as the joined file or the report.
    timer:     records the time of each stage.
    backend:   speaks the lines; None: one engine in this process.
    progress:  how progress is shown on stderr.

    Raises VoxError when the run as a whole can't go on.
    """
    began, backend, timer = time.time(), backend or LocalBackend(), timer or StageTimer()
    prepare_folder(out)
    if artifacts is not None:
        artifacts.prepare(USUAL_RATE)
    with (
        cleanup(),
        Display(Summary(), plan, kind=progress) as display,
        FolderLock(out, display.notify) as lock,
        timer.around(EARLIER, ResultLog(out)) as log,
        interruptible(),
    ):
        if notice := sync_notice(out):
            display.notify(notice)
        run = BatchRun(plan, out, options, display, log, rerun, timer, check=backend.check)
        with timer(EARLIER):
            if not lock.left_over:
                check_places(plan, log.history, out, rerun, artifacts.beside if artifacts is not None else nothing)
        try:
            with closing(run.outcomes(backend)) as outcomes:  # finished lines are recorded before the log is closed
                for outcome in outcomes:
                    if outcome.error is not None:
                        display.notify(f"{outcome.job}: {outcome.error}")
                    display.landed(outcome)
                    if artifacts is not None:
                        artifacts.add(outcome)
        except BaseException:
            if log.broken or backend.unrecorded:
                lock.keep()  # tells the next run that there are files without a result
            raise
        if artifacts is not None:
            with timer("joined file, subtitles, report"):
                artifacts.model = run.model_name
                try:
                    artifacts.make(display.notify)
                except VoxError as error:
                    display.summary.error = error
            sweep(artifacts.folders, began)
        # temporary files of a worker that died in this run are older than its death
        sweep({out, *(utterance.job.out.parent for utterance in plan.utterances)}, run.last_death or began)
    return display.summary
