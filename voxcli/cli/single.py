"""The common part of `synth` and `clone`: speak one text into a file, or stream it to stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from voxcli.cli.options import notify
from voxcli.cli.streams import drop_stdout
from voxcli.errors import InputError, OutputError
from voxcli.terminal import one_line

if TYPE_CHECKING:
    from voxcli.cli.check_options import CheckOptionGroup
    from voxcli.cli.options import FileOptions
    from voxcli.engine.load import ModelOptions
    from voxcli.jobs.job import Job
    from voxcli.jobs.protected import ProtectedInputs
    from voxcli.run.summary import Spoken


def speak(
    job: Job,
    engine: ModelOptions,
    inputs: ProtectedInputs,
    output: FileOptions,
    server: str | None,
    check: CheckOptionGroup,
) -> None:
    """Speak a job into a file or to stdout.

    inputs: the command's inputs without the files of the job's voice, which are added.
    server: URL of a server to speak on; None: load a model.
    check:  how the file is checked.

    Raises InputError, before a model is loaded, for options that exclude each other and for an output that is an
    input. Exits with code 1 if the speech was cut off at a length limit or is doubtful, unless that is allowed.
    """
    from voxcli.audio.formats import has_bitrate
    from voxcli.jobs.output_paths import STDOUT
    from voxcli.jobs.settings import WHOLE

    inputs.add_voices(job)
    if job.settings.bitrate is not None and not has_bitrate(job.format):
        raise InputError(f"--bitrate needs a format with a bitrate: ogg, opus or mp3, not {job.format}")
    check_options = check.check_options()
    if check_options is not None and (server is not None or job.out == STDOUT):
        raise InputError("--check needs the whole audio of a model that is loaded here: name a file, without --server")
    kind = None
    if output.subtitles is not None:
        from voxcli.artifacts.subtitles import check_subtitles, subtitles_named, subtitles_path

        kind = subtitles_named(output.subtitles)
        check_subtitles(kind, checked=check_options is not None)
    if job.out != STDOUT:
        if output.raw:
            raise InputError("--raw needs -o -: files have a format, see --format")
        inputs.refuse(job.out)
        if kind is not None:
            inputs.refuse(subtitles_path(job.out, kind))
        if server is None:
            from voxcli.run.single import speak_one

            spoken = speak_one(job, engine, kind, check_options)
        else:
            from voxcli.server.remote import speak_one_there

            spoken = speak_one_there(job, server, kind, notify)
        _print_summary(spoken, output.allow_truncated, check.allow_doubtful)
        return
    if kind is not None:
        raise InputError("--subtitles needs an audio file: name one with -o")
    for name in WHOLE:
        if getattr(job.settings, name) is not None:
            raise InputError(f"--{name} needs the whole audio: name a file with -o")
    if job.settings.format not in (None, job.format):
        raise InputError(f"--format {job.settings.format} needs an audio file: -o - streams {job.format}")
    if sys.stdout.isatty():
        raise InputError("-o - writes audio to stdout, which is a terminal: pipe it to a player, or name a file")
    inputs.refuse_stream(sys.stdout, "stdout")
    try:
        if server is None:
            from voxcli.run.single import speak_aloud

            spoken = speak_aloud(job, engine, sys.stdout.buffer, raw=output.raw)
        else:
            from voxcli.server.remote import speak_aloud_there

            spoken = speak_aloud_there(job, server, sys.stdout.buffer, notify, raw=output.raw)
    except OutputError:
        drop_stdout()
        raise
    _print_summary(spoken, output.allow_truncated)


def _print_summary(spoken: Spoken, allow_truncated: bool, allow_doubtful: bool = False) -> None:
    print(one_line(spoken.line), file=sys.stderr)
    if (spoken.cut_off and not allow_truncated) or (spoken.doubtful and not allow_doubtful):
        raise typer.Exit(1)
