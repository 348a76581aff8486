"""From a plan to files, whichever command made it: load a model, run, tell what happens, count.

What was refused while planning is told and noted first; a model is loaded only when something is left to speak.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from voxcli.audio.write import check_output
from voxcli.run.job import Job
from voxcli.run.load import ModelOptions, load_engine
from voxcli.run.outputs import format_of, prepare_folder
from voxcli.run.plan import Plan, make_plan
from voxcli.run.progress import Display
from voxcli.run.report import Summary
from voxcli.run.results import Outcome, ResultLog, failure
from voxcli.run.settings import DEFAULTS, Settings

USUAL_RATE = 48_000  # of the full model; the rate of another is not known before it is loaded


def single_job(
    text: str,
    out: Path,
    *,
    ref: Path | None = None,
    prompt_audio: Path | None = None,
    prompt_text: str | None = None,
    control: str | None = None,
    settings: Settings = DEFAULTS,
) -> Job:
    """The job of a command that speaks one text. Raises InputError."""
    return Job(out.name, text, out, format_of(out, settings.format), ref, prompt_audio, prompt_text, control, settings)


def speak_one(job: Job, options: ModelOptions) -> str:
    """Run one job and describe in a line what came of it. Raises its error when it fails."""
    plan = make_plan([job])
    folder = job.out.parent
    if not plan.refused:
        prepare_folder(folder)
        check_output(job.out, USUAL_RATE, format=job.format)
    with Display(Summary(), plan) as display:
        (outcome,) = _outcomes(plan, folder, options, display, None)
        if outcome.error is not None:
            raise outcome.error
        display.landed(outcome)
    return display.summary.one_line(outcome.result, job.out)


def speak_all(plan: Plan, out: Path, options: ModelOptions) -> Summary:
    """Run a plan into the folder `out`, with results.jsonl. A job that fails is told and counted, the rest run."""
    prepare_folder(out)
    with ExitStack() as stack:
        display = stack.enter_context(Display(Summary(), plan))
        log = stack.enter_context(ResultLog(out))
        for outcome in _outcomes(plan, out, options, display, log):
            if outcome.error is not None:
                display.say(f"{outcome.job}: {outcome.error}")
            display.landed(outcome)
    return display.summary


def _outcomes(
    plan: Plan, out: Path, options: ModelOptions, display: Display, log: ResultLog | None
) -> Iterator[Outcome]:
    for job, error in plan.refused:
        outcome = failure(job, error, out)
        if log is not None:
            log.append(outcome.result)
        yield outcome
    for warning in plan.warnings:
        display.say(warning)
    if not plan.utterances:
        return
    from voxcli.run.session import Session  # brings torch: only when there is something to speak

    loaded = load_engine(options, display.say)
    display.started(loaded)
    yield from Session(loaded.engine, plan.utterances, out, log=log, say=display.say).run()
