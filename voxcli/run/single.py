"""Speak one text, into a file or to a stream that plays while it is generated."""

from __future__ import annotations

from typing import BinaryIO

from voxcli.artifacts.subtitles import Subtitles, subtitles_path, write_subtitles
from voxcli.audio.wavstream import write_stream
from voxcli.audio.write import check_output
from voxcli.check.options import CheckOptions
from voxcli.engine.load import ModelOptions, load_engine
from voxcli.errors import InputError
from voxcli.files.sync import sync_notice
from voxcli.files.write import prepare_folder
from voxcli.interrupts import cleanup, interruptible
from voxcli.jobs.job import Job
from voxcli.jobs.plan import NOTHING_TO_SPEAK, Plan, make_plan
from voxcli.jobs.result import CUT_OFF
from voxcli.jobs.speaker import speaker_of
from voxcli.run.batch import USUAL_RATE, BatchRun, LocalBackend
from voxcli.run.progress import Display
from voxcli.run.summary import Spoken


def _planned(job: Job, options: ModelOptions) -> Plan:
    """Plan a job. Raises InputError for a text without words: nobody wants a file of silence."""
    plan = make_plan([job], speaker_of(options.model))
    if plan.skipped:
        raise InputError(NOTHING_TO_SPEAK)
    return plan


def speak_one(
    job: Job, options: ModelOptions, subtitles: Subtitles | None = None, check: CheckOptions | None = None
) -> Spoken:
    """Run one job into its file. check: None: without one. Raises the job's error when it fails."""
    plan = _planned(job, options)
    folder = job.out.parent
    if not plan.refused:
        prepare_folder(folder)
        check_output(job.out, job.sample_rate or USUAL_RATE, format=job.format)
    with cleanup(), Display(plan) as display, interruptible():
        if not plan.refused and (notice := sync_notice(folder)):
            display.notify(notice)
        (outcome,) = BatchRun(plan, folder, options, display, backend=LocalBackend(check)).outcomes()
        if outcome.error is not None:
            raise outcome.error
        if subtitles is not None:
            words = outcome.result.words or ()
            write_subtitles(subtitles_path(job.out, subtitles), outcome.result.cues or (), subtitles, words)
        shown = (*plan.utterances[0].warnings, CUT_OFF)  # printed before synthesis; part of the summary line
        for warning in outcome.result.warnings:
            if warning not in shown:
                display.notify(warning)
        if outcome.result.reason is not None:
            display.notify(f"doubtful: {outcome.result.reason}")
        display.landed(outcome)
    summary = display.summary
    return Spoken(summary.one_line(outcome.result, job.out), bool(summary.cut_off), bool(summary.doubtful))


def speak_aloud(job: Job, options: ModelOptions, sink: BinaryIO, *, raw: bool, name: str = "stdout") -> Spoken:
    """Run one job into a stream that plays meanwhile. Raises the job's error when it fails. name: of the sink."""
    plan = _planned(job, options)
    for _, error in plan.refused:
        raise error
    with cleanup(), Display(plan) as display, interruptible():
        for warning in (*plan.notes, *plan.warnings):
            display.notify(warning)
        loaded = load_engine(options, display.notify, requests=1)
        from voxcli.run.stream import Stream

        display.started(loaded)
        stream = Stream(loaded.engine, plan.utterances[0], encoder=loaded.encoder, notify=display.notify)
        line = write_stream(stream, sink, raw=raw, name=name)
        return Spoken(f"{line} ({loaded.name})", stream.cut_off)
