"""The common part of `synth` and `clone`: speak one text into a file, or stream it to stdout or to a player."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import typer

from voxcli.cli.options import notify
from voxcli.cli.streams import drop_stdout
from voxcli.errors import InputError, OutputError, quoted
from voxcli.terminal import one_line

if TYPE_CHECKING:
    from voxcli.artifacts.subtitles import Subtitles
    from voxcli.check.options import CheckOptions
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
    """Speak a job into a file, to stdout or to a player.

    inputs: the command's inputs without the files of the job's voice, which are added.
    server: URL of a server to speak on; None: load a model.
    check:  how the file is checked.

    Raises InputError, before a model is loaded, for options that exclude each other and for an output that is an
    input. Exits with code 1 if the speech was cut off at a length limit or is doubtful, unless that is allowed.
    """
    from voxcli.audio.formats import bitrate_formats, has_bitrate
    from voxcli.jobs.output_paths import STDOUT

    inputs.add_voices(job)
    if job.settings.bitrate is not None and not has_bitrate(job.format):
        raise InputError(f"--bitrate needs a format with a bitrate: {bitrate_formats()}, not {job.format}")
    check_options = check.check_options()
    kind = None
    if output.subtitles is not None:
        from voxcli.artifacts.subtitles import check_subtitles, subtitles_named

        kind = subtitles_named(output.subtitles)
        check_subtitles(kind, checked=check_options is not None)
    if check_options is not None and server is not None:
        raise InputError(
            f"--check needs a model that is loaded here: it can't be used with the server {quoted(server)}"
        )
    if check_options is not None and job.out == STDOUT:
        raise InputError("--check needs the whole audio: name a file with -o")
    if output.play:
        from voxcli.audio.player import check_player

        check_player()
    to_a_file = job.out != STDOUT
    if to_a_file:
        spoken = _into_file(job, engine, inputs, output, server, kind, check_options)
    else:
        spoken = _stream(job, engine, inputs, output, server)
    print(one_line(spoken.line), file=sys.stderr)
    if output.play and to_a_file:
        from voxcli.audio.player import play_file

        play_file(job.out)
    if (spoken.cut_off and not output.allow_truncated) or (spoken.doubtful and not check.allow_doubtful):
        raise typer.Exit(1)


def _into_file(
    job: Job,
    engine: ModelOptions,
    inputs: ProtectedInputs,
    output: FileOptions,
    server: str | None,
    kind: Subtitles | None,
    check: CheckOptions | None,
) -> Spoken:
    if output.raw:
        raise InputError("--raw needs -o -: files have a format, see --format")
    inputs.refuse(job.out)
    if kind is not None:
        from voxcli.artifacts.subtitles import subtitles_path

        inputs.refuse(subtitles_path(job.out, kind))
    if output.tag:
        job = _tagged(job, output.tag)
    if server is None:
        from voxcli.run.single import speak_one

        return speak_one(job, engine, kind, check)
    if job.tags:
        raise InputError("--tag and --server exclude each other: a server writes no tags")
    from voxcli.server.remote import speak_one_there

    return speak_one_there(job, server, kind, notify)


def _tagged(job: Job, named: list[str]) -> Job:
    """Return the job with the tags of its file. Raises InputError for a tag that its format lacks."""
    from voxcli.jobs.tags import parse_tags

    tags = parse_tags(named)
    if tags is None:
        return job
    values = {"id": job.out.stem, "text": job.text}
    for field in tags.fields:
        if field not in values:
            raise InputError(f"--tag: there is no field {field!r} here, only id and text")
    return replace(job, tags=tags.of(job, values))


def _stream(job: Job, engine: ModelOptions, inputs: ProtectedInputs, output: FileOptions, server: str | None) -> Spoken:
    from voxcli.jobs.settings import WHOLE

    if output.subtitles is not None:
        raise InputError("--subtitles needs an audio file: name one with -o")
    if output.tag:
        raise InputError("--tag needs an audio file: name one with -o")
    for name in WHOLE:
        if getattr(job.settings, name) is not None:
            raise InputError(f"--{name} needs the whole audio: name a file with -o")
    if job.settings.format not in (None, job.format):
        raise InputError(f"--format {job.settings.format} needs an audio file: -o - streams {job.format}")
    name = "the player" if output.play else "stdout"
    with _listener(inputs, output) as sink:
        if server is None:
            from voxcli.run.single import speak_aloud

            return speak_aloud(job, engine, sink, raw=output.raw, name=name)
        from voxcli.server.remote import speak_aloud_there

        return speak_aloud_there(job, server, sink, notify, raw=output.raw, name=name)


@contextmanager
def _listener(inputs: ProtectedInputs, output: FileOptions) -> Iterator[BinaryIO]:
    """Yield what the stream is written to: a player, or stdout."""
    if output.play:
        if output.out is not None or output.raw:
            raise InputError("--play and -o - exclude each other: omit -o to listen, or pipe stdout to a player")
        from voxcli.audio.player import open_player

        with open_player() as player:
            yield player
        return
    if sys.stdout.isatty():
        raise InputError("-o - writes audio to stdout, which is a terminal: pipe it to a player, or name a file")
    inputs.refuse_stream(sys.stdout, "stdout")
    try:
        yield sys.stdout.buffer
    except OutputError:
        drop_stdout()
        raise
