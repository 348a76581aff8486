"""What `synth` and `clone` share: one text into a file, or to stdout while it is spoken."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from voxcli.cli.streams import drop_stdout
from voxcli.errors import InputError, OutputError
from voxcli.terminal import one_line

if TYPE_CHECKING:
    from voxcli.engine.load import ModelOptions
    from voxcli.jobs.job import Job
    from voxcli.jobs.protected import ProtectedInputs
    from voxcli.run.speak import Spoken


def speak(
    job: Job,
    engine: ModelOptions,
    inputs: ProtectedInputs,
    *,
    subtitles: str | None,
    raw: bool,
    allow_truncated: bool,
) -> None:
    """Raises InputError for options that do not go together, or for an output that is an input, before a model is
    loaded.

    inputs: what the command reads, but for the files of the job's voice.

    Ends with exit code 1 when a length limit cut the speech off, unless that is allowed.
    """
    from voxcli.artifacts.subtitles import subtitles_named, subtitles_path
    from voxcli.run.speak import STDOUT, speak_aloud, speak_one

    inputs.add_voices(job)
    kind = subtitles_named(subtitles)
    if job.out != STDOUT:
        if raw:
            raise InputError("--raw is for -o -: the name of a file tells its format")
        inputs.refuse(job.out)
        if kind is not None:
            inputs.refuse(subtitles_path(job.out, kind))
        _tell(speak_one(job, engine, kind), allow_truncated)
        return
    if kind is not None:
        raise InputError("--subtitles lie beside a file: name one with -o")
    if job.settings.level is not None:
        raise InputError("--level needs the whole sound: name a file with -o")
    if sys.stdout.isatty():
        raise InputError("-o - sends sound to stdout, which is a terminal here: pipe it to a player, or name a file")
    inputs.refuse_stream(sys.stdout, "stdout")
    try:
        spoken = speak_aloud(job, engine, sys.stdout.buffer, raw=raw)
    except OutputError:
        drop_stdout()
        raise
    _tell(spoken, allow_truncated)


def _tell(spoken: Spoken, allow_truncated: bool) -> None:
    print(one_line(spoken.told), file=sys.stderr)
    if spoken.cut_off and not allow_truncated:
        raise typer.Exit(1)
