"""From a plan to files, whichever command made it: load a model, run, tell what happens, count.

What was refused while planning is told and noted first; a model is loaded only when something is left to speak.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from voxcli.run.load import ModelOptions, load_engine
from voxcli.run.outputs import prepare_folder
from voxcli.run.plan import Plan
from voxcli.run.progress import Display
from voxcli.run.report import Summary
from voxcli.run.results import Outcome, ResultLog, failure


def speak_one(plan: Plan, options: ModelOptions) -> Outcome:
    """Run a plan of one job. Raises its error when it fails."""
    for _, error in plan.refused:
        raise error
    (utterance,) = plan.utterances
    out = utterance.job.out.parent
    prepare_folder(out)
    with Display(Summary(), plan) as display:
        for outcome in _outcomes(plan, out, options, display, None):
            if outcome.error is not None:
                raise outcome.error
            display.summary.add(outcome.result)
            return outcome
    raise AssertionError("a session gives an outcome for every utterance")


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
