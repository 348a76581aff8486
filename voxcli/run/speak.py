"""From a plan to files, whichever command made it: load a model, run, tell what happens, count.

What was refused while planning is told and noted first; a model is loaded only when something is left to speak.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import BinaryIO, NamedTuple

from voxcli.artifacts.artifacts import Products
from voxcli.artifacts.subtitles import Subtitles, subtitles_path, write_subtitles
from voxcli.audio.write import check_output
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import VoxError
from voxcli.files.write import prepare_folder, sweep
from voxcli.jobs.job import Job
from voxcli.jobs.output_paths import format_of
from voxcli.jobs.plan import Plan, make_plan
from voxcli.jobs.result import CUT_OFF, Outcome, failure
from voxcli.jobs.settings import DEFAULTS, Settings
from voxcli.model.hub import choose_model, model_identity
from voxcli.run.lock import FolderLock
from voxcli.run.profile import Stages
from voxcli.run.progress import Display
from voxcli.run.results import ResultLog
from voxcli.run.resume import Redo, check_places, make_agenda
from voxcli.run.speeds import remember
from voxcli.run.summary import Summary

Workers = Callable[..., Iterator[Outcome]]  # see `voxcli.cluster.ray_pool.speak_on`

STDOUT = Path("-")
USUAL_RATE = 48_000  # of the full model; the rate of another is not known before it is loaded


def single_job(
    text: str,
    out: Path,
    *,
    ref: Path | None = None,
    prompt_audio: Path | None = None,
    prompt_text: str | None = None,
    control: str | None = None,
    voice: Path | None = None,
    settings: Settings = DEFAULTS,
) -> Job:
    """The job of a command that speaks one text, into a file or to STDOUT. Raises InputError."""
    return Job(
        id=out.name,
        text=text,
        out=out,
        format="wav" if out == STDOUT else format_of(out, settings.format),
        ref=ref,
        prompt_audio=prompt_audio,
        prompt_text=prompt_text,
        control=control,
        voice=voice,
        settings=settings,
    )


class Spoken(NamedTuple):
    """What came of one job, in a line, and whether a length limit cut it off."""

    told: str
    cut_off: bool


def speak_one(job: Job, options: ModelOptions, subtitles: Subtitles | None = None) -> Spoken:
    """Run one job. Raises its error when it fails."""
    plan = make_plan([job])
    folder = job.out.parent
    if not plan.refused:
        prepare_folder(folder)
        check_output(job.out, USUAL_RATE, format=job.format)
    with Display(Summary(), plan) as display:
        (outcome,) = _outcomes(plan, folder, options, display, None)
        if outcome.error is not None:
            raise outcome.error
        if subtitles is not None:
            write_subtitles(subtitles_path(job.out, subtitles), outcome.result.cues or (), subtitles)
        told = (*plan.utterances[0].warnings, CUT_OFF)  # before it was spoken, and in the line that says what was made
        for warning in outcome.result.warnings:
            if warning not in told:
                display.say(warning)
        display.landed(outcome)
    return Spoken(display.summary.one_line(outcome.result, job.out), bool(display.summary.cut_off))


def speak_aloud(job: Job, options: ModelOptions, sink: BinaryIO, *, raw: bool) -> Spoken:
    """Run one job to a stream that is heard meanwhile. Raises its error when it fails."""
    plan = make_plan([job])
    for _, error in plan.refused:
        raise error
    with Display(Summary(), plan) as display:
        for warning in plan.warnings:
            display.say(warning)
        loaded = load_engine(options, display.say)
        from voxcli.run.stream import Stream, write_stream

        display.started(loaded)
        stream = Stream(loaded.engine, plan.utterances[0], encoder=loaded.encoder, say=display.say)
        told = write_stream(stream, sink, raw=raw)
        return Spoken(f"{told} ({loaded.name})", stream.cut_off)


def speak_all(
    plan: Plan,
    out: Path,
    options: ModelOptions,
    *,
    redo: Redo = "changed",
    products: Products | None = None,
    stages: Stages | None = None,
    workers: Workers | None = None,
) -> Summary:
    """Run a plan into the folder `out`, with results.jsonl. A job that fails is told and counted, the rest run.

    redo:     which lines of an earlier run are spoken again.
    products: what is made of all files in the end.
    stages:   takes the time of each stage.
    workers:  speak, instead of one engine in this process.
    """
    began, stages = time.time(), stages or Stages()
    deaths = [began]
    prepare_folder(out)
    if products is not None:
        products.prepare(USUAL_RATE)
    with ExitStack() as stack:
        display = stack.enter_context(Display(Summary(), plan))
        lock = stack.enter_context(FolderLock(out, display.say))
        with stages("earlier results"):
            log = stack.enter_context(ResultLog(out))
            if not lock.left_over:
                check_places(plan, log.history, out, redo)
        outcomes = _outcomes(plan, out, options, display, log, redo, stages, workers, deaths.append)
        try:
            with closing(outcomes):  # what is finished is noted before the log is closed
                for outcome in outcomes:
                    if outcome.error is not None:
                        display.say(f"{outcome.job}: {outcome.error}")
                    display.landed(outcome)
                    if products is not None:
                        products.add(outcome)
        except BaseException:
            if log.broken or workers is not None:  # a worker that is left behind writes and is heard no more
                lock.keep()
            raise
        if workers is None:
            remember(options, display.summary.audio_s, display.summary.wall_s)
        if products is not None:
            with stages("joined file, subtitles, report"):
                try:
                    products.make(display.say)
                except VoxError as error:
                    display.summary.error = error
            sweep(products.folders, began)
        # what a worker left that died in this run is older than its death
        sweep({out, *(utterance.job.out.parent for utterance in plan.utterances)}, deaths[-1])
    return display.summary


def _outcomes(
    plan: Plan,
    out: Path,
    options: ModelOptions,
    display: Display,
    log: ResultLog | None,
    redo: Redo = "all",
    stages: Stages | None = None,
    workers: Workers | None = None,
    died: Callable[[float], None] = lambda when: None,
) -> Generator[Outcome, None, None]:
    """One for every job of the plan; those kept from an earlier run come before those spoken now."""
    stages = stages or Stages()
    for job, error in plan.refused:
        outcome = failure(job, error, out)
        if log is not None:
            log.append(outcome.result)
        yield outcome
    for warning in plan.warnings:
        display.say(warning)
    if not plan.utterances:
        return
    choice = choose_model(options.model, display.say)
    utterances = plan.utterances
    if log is not None:
        with stages("earlier results"):
            identity = model_identity(filter(None, (choice.folder, options.lora)))
            agenda = make_agenda(plan, log.history, out, identity, redo)
        if log.history:
            display.say(str(agenda))
        if agenda.mended:
            log.append(*agenda.mended)
        display.summary.left = agenda.left
        yield from agenda.kept
        utterances = agenda.todo
    if not utterances:
        return
    if workers is not None:
        yield from workers(utterances, out, options, choice, identity, display, log=log, stages=stages, died=died)
        return
    with stages("loading the model"):
        from voxcli.run.session import Session  # brings torch: only when there is something to speak

        loaded = load_engine(options, display.say, choice)
    display.started(loaded)
    yield from Session(
        loaded.engine, utterances, out, log=log, say=display.say, encoder=loaded.encoder, stages=stages
    ).run()
