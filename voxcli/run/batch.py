"""A run: from a plan to files, results and a summary.

What was refused while planning is reported and recorded first. A model is loaded only when something is left to speak.
Who speaks is a `Backend`: one engine in this process, or many elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from voxcli.artifacts.artifacts import Artifacts
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import VoxError
from voxcli.files.write import prepare_folder, sweep
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.plan import Plan, Utterance
from voxcli.jobs.result import Outcome, failure, skipped
from voxcli.model.hub import ResolvedModel, model_identity, resolve_model
from voxcli.run.lock import FolderLock
from voxcli.run.profile import EARLIER, StageTimer
from voxcli.run.progress import Display
from voxcli.run.results import ResultLog
from voxcli.run.resume import RerunPolicy, ResumePlan, check_places, make_resume_plan, nothing
from voxcli.run.summary import Summary
from voxcli.run.throughput import remember

USUAL_RATE = 48_000  # of the full model; the rate of another is not known before it is loaded


class Backend(Protocol):
    """Speaks the utterances of a run.

    unrecorded: files may be there that no result names, once the outcomes have ended.
    """

    unrecorded: bool

    def outcomes(self, utterances: list[Utterance], run: BatchRun) -> Iterator[Outcome]:
        """One for each utterance, as they finish. Raises VoxError when none can be spoken any more."""


@dataclass
class BatchRun:
    """What the parts of a run share.

    out:        the folder that results name files from.
    log:        takes results; None where none are recorded.
    rerun:      which lines of an earlier run are spoken again.
    last_death: of a process that spoke for this run, Unix time: its unfinished files are older.
    """

    plan: Plan
    out: Path
    options: ModelOptions
    display: Display
    log: ResultLog | None = None
    rerun: RerunPolicy = "all"
    timer: StageTimer = field(default_factory=StageTimer)
    last_death: float | None = None

    @cached_property
    def model(self) -> ResolvedModel:
        """The checkpoint that speaks. Raises ModelError."""
        return resolve_model(self.options.model, self.display.notify)

    @cached_property
    def identity(self) -> str:
        """Of the model, with its adapter."""
        return model_identity(filter(None, (self.model.folder, self.options.lora)))

    def outcomes(self, backend: Backend) -> Generator[Outcome, None, None]:
        """One for every job of the plan; those kept from an earlier run come before those spoken now."""
        refused = [failure(job, error, self.out) for job, error in self.plan.refused]
        if self.log is not None and refused:
            self.log.append(*(outcome.result for outcome in refused))
        yield from refused
        yield from self._skipped()
        for warning in (*self.plan.notes, *self.plan.warnings):
            self.display.notify(warning)
        utterances = self.plan.utterances
        if utterances and self.log is not None:
            resume_plan = self._compared(self.log)
            yield from resume_plan.kept
            utterances = resume_plan.todo
        if utterances:
            yield from backend.outcomes(utterances, self)

    def _skipped(self) -> list[Outcome]:
        """Texts without words. Those of an earlier run need not be noted again."""
        outcomes = [skipped(job, pause_s, self.out) for job, pause_s in self.plan.skipped]
        if self.log is None:
            return outcomes
        before = {identity: replace(history.last, finished=None) for identity, history in self.log.history.items()}
        results = [outcome.result for outcome in outcomes]
        if new := [result for result in results if before.get(result.id) != replace(result, finished=None)]:
            self.log.append(*new)
        return outcomes

    def _known_identity(self, log: ResultLog) -> str:
        """The model's, in the form in which the results that are there name it."""
        fingerprints = (past.good.fingerprint for past in log.history.values() if past.good is not None)
        named = {fingerprint.get("model") for fingerprint in fingerprints if fingerprint}
        if named <= {self.identity}:
            return self.identity
        former = model_identity(filter(None, (self.model.folder, self.options.lora)), former=True)
        return former if former in named else self.identity

    def _compared(self, log: ResultLog) -> ResumePlan:
        with self.timer(EARLIER):
            resume_plan = make_resume_plan(self.plan, log.history, self.out, self._known_identity(log), self.rerun)
        if log.history:
            self.display.notify(str(resume_plan))
        if resume_plan.mended:
            log.append(*resume_plan.mended)
        self.display.summary.left = resume_plan.left
        return resume_plan


class LocalBackend:
    """One engine in this process."""

    unrecorded = False

    def outcomes(self, utterances: list[Utterance], run: BatchRun) -> Iterator[Outcome]:
        with run.timer("loading the model"):
            from voxcli.run.session import Session  # brings torch: only when there is something to speak

            segments = sum(len(utterance.segments) for utterance in utterances)
            loaded = load_engine(run.options, run.display.notify, run.model, segments)
        run.display.started(loaded)
        yield from Session(
            loaded.engine,
            utterances,
            run.out,
            log=run.log,
            notify=run.display.notify,
            encoder=loaded.encoder,
            timer=run.timer,
        ).run()
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
) -> Summary:
    """Run a plan into the folder `out`, with results.jsonl. A job that fails is reported and counted, the rest run.

    rerun:     which lines of an earlier run are spoken again.
    artifacts: what is made of all files in the end.
    timer:     takes the time of each stage.
    backend:   who speaks; None: one engine in this process.
    """
    began, backend, timer = time.time(), backend or LocalBackend(), timer or StageTimer()
    prepare_folder(out)
    if artifacts is not None:
        artifacts.prepare(USUAL_RATE)
    with (
        cleanup(),
        Display(Summary(), plan) as display,
        FolderLock(out, display.notify) as lock,
        timer.around(EARLIER, ResultLog(out)) as log,
        interruptible(),
    ):
        run = BatchRun(plan, out, options, display, log, rerun, timer)
        with timer(EARLIER):
            if not lock.left_over:
                check_places(plan, log.history, out, rerun, artifacts.beside if artifacts is not None else nothing)
        try:
            with closing(run.outcomes(backend)) as outcomes:  # what is finished is recorded before the log is closed
                for outcome in outcomes:
                    if outcome.error is not None:
                        display.notify(f"{outcome.job}: {outcome.error}")
                    display.landed(outcome)
                    if artifacts is not None:
                        artifacts.add(outcome)
        except BaseException:
            if log.broken or backend.unrecorded:
                lock.keep()  # for the next run to know why they are there
            raise
        if artifacts is not None:
            with timer("joined file, subtitles, report"):
                try:
                    artifacts.make(display.notify)
                except VoxError as error:
                    display.summary.error = error
            sweep(artifacts.folders, began)
        # what a worker left that died in this run is older than its death
        sweep({out, *(utterance.job.out.parent for utterance in plan.utterances)}, run.last_death or began)
    return display.summary
