"""`voxcpm2 batch`: speak a manifest into a folder of files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from voxcli.cli.check_options import CheckOptionGroup
from voxcli.cli.flatten import flatten, option
from voxcli.cli.help import INPUT, OTHER, OUTPUT, RESUME, VOICE, Command, examples
from voxcli.cli.options import (
    BatchModelOptions,
    Debug,
    Encoding,
    InputFormat,
    LexiconFile,
    SameVoiceOptions,
    SubtitleKind,
    TagList,
    VoiceOptions,
    WorkerOptions,
    json_note,
    lexicon_of,
    notify,
    protected,
)
from voxcli.cli.rerun_options import RerunOptions
from voxcli.cli.setting_options import SettingOptions
from voxcli.cli.values import complete, number, word
from voxcli.errors import InputError
from voxcli.files.located import located
from voxcli.jobs.job import MAX_TAKES

if TYPE_CHECKING:
    from voxcli.jobs.template import Template
    from voxcli.run.progress import ProgressKind

PROGRESS = ("auto", "lines", "json", "none")
EXAMPLES = examples(
    "voxcpm2 batch lines.jsonl -o speech",
    "voxcpm2 batch script.txt -o speech --ref voice.wav --dry-run",
)


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES, no_args_is_help=True)(flatten(batch))


def batch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MANIFEST",
            help="JSON Lines, a table (.csv, .tsv, .xlsx, .ods), Markdown, subtitles, or one text per line; "
            "- reads stdin.",
        ),
    ],
    out: Annotated[
        Path, option(OUTPUT, "--out", "-o", metavar="FOLDER", help="Folder for the audio files and results.jsonl.")
    ],
    voice: VoiceOptions,
    shared: SameVoiceOptions,
    speech: SettingOptions,
    engine: BatchModelOptions,
    workers: WorkerOptions,
    check: CheckOptionGroup,
    again: RerunOptions,
    defaults: Annotated[
        Path | None,
        option(INPUT, "--defaults", metavar="FILE", help="YAML file with default values for fields of the lines."),
    ] = None,
    cast_file: Annotated[
        Path | None,
        option(
            VOICE,
            "--cast",
            metavar="FILE",
            help="YAML file with a voice, a manner and settings for each value of the column `character`.",
        ),
    ] = None,
    input_format: InputFormat = None,
    encoding: Encoding = None,
    column_map: Annotated[
        list[str] | None,
        option(
            INPUT,
            "--map",
            metavar="FIELD=COLUMN",
            help="Read fields from columns with other names: text=Line,voice=Character.",
        ),
    ] = None,
    strict: Annotated[
        bool, option(INPUT, "--strict", help="Refuse unknown columns and fields instead of keeping them.")
    ] = False,
    lexicon: LexiconFile = None,
    subtitles: SubtitleKind = None,
    name_template: Annotated[
        str | None,
        option(
            OUTPUT,
            "--name-template",
            metavar="TEXT",
            show_default="{id}",
            help="Path of each file in the folder, made of fields and columns of its line: {character}/{id}_{take}.",
        ),
    ] = None,
    tag: TagList = None,
    takes: Annotated[
        int | None,
        option(
            OUTPUT,
            "--takes",
            metavar="N",
            parser=number("--takes", int, 1, MAX_TAKES),
            show_default="1",
            help="Number of takes of each line, each with its own seed and file: NAME.wav, NAME.take2.wav, ...",
        ),
    ] = None,
    join: Annotated[
        Path | None,
        option(OUTPUT, "--join", metavar="FILE", help="Also join all audio files into one, in manifest order."),
    ] = None,
    report: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--report",
            metavar="FILE",
            help="Also write an HTML page to hear, compare, approve and reject all lines.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option(RESUME, "--dry-run", help="Check everything, print what would be spoken, and stop.")
    ] = False,
    allow_truncated: Annotated[
        bool, option(OTHER, "--allow-truncated", help="Exit with 0 even if lines were cut off at a length limit.")
    ] = False,
    progress: Annotated[
        str,
        option(
            OTHER,
            "--progress",
            metavar="KIND",
            parser=word("--progress", ", ".join(PROGRESS)),
            autocompletion=complete(lambda: PROGRESS),
            help="auto (a bar on a terminal, else a line each minute and at each tenth), lines, json or none.",
        ),
    ] = "auto",
    profile: Annotated[bool, option(OTHER, "--profile", help="Print how long each stage took.")] = False,
    debug: Debug = False,
) -> None:
    """Speak each line of a manifest into its own file.

    Lines are spoken in batches. Highest priority first: the line's own fields, the options here, --preset,
    --defaults, built-in defaults. A line that fails is reported and recorded in results.jsonl; the other lines
    are spoken, and the exit code is 1. Rerun the command to resume, also after a crash: it speaks lines that are
    missing, failed or changed, and keeps the rest.
    """
    if source != "-":
        source = str(located(source))
    policy = again.policy
    from voxcli.artifacts.artifacts import Artifacts
    from voxcli.artifacts.subtitles import check_subtitles, subtitles_named
    from voxcli.audio.formats import bitrate_formats, has_bitrate
    from voxcli.inputs.cast import read_cast
    from voxcli.inputs.columns import parse_map
    from voxcli.inputs.defaults import read_defaults
    from voxcli.inputs.document import InputOptions, format_named
    from voxcli.inputs.manifest import LineDefaults, read_manifest
    from voxcli.jobs.plan import check_voices, make_plan
    from voxcli.jobs.sharedvoices import preview_voices
    from voxcli.jobs.speaker import speaker_of
    from voxcli.jobs.tags import parse_tags
    from voxcli.run.numbers import keep_numbers
    from voxcli.run.profile import EARLIER, StageTimer
    from voxcli.run.results import read_earlier
    from voxcli.run.resume import check_retry, preview
    from voxcli.run.throughput import speed_of
    from voxcli.terminal import printable, wrapped

    timer = StageTimer()
    cluster = workers.cluster()
    check_options = check.check_options()
    same_voice = shared.value(joined=join is not None)
    common = read_defaults(defaults) if defaults is not None else LineDefaults()
    settings = speech.settings(common.settings)
    model = engine.model_options(speech.preset)
    inputs = protected(speech.preset, model)
    if defaults is not None:
        inputs.add(defaults, "the defaults file")
    named = voice.file()
    if named is not None:
        common = replace(common, ref=None, prompt_audio=None, prompt_text=None)
    common = replace(
        common,
        settings=settings,
        ref=voice.ref or common.ref,
        voice=named or (None if voice.ref else common.voice),
        control=voice.control or common.control,
        lexicon=lexicon_of(lexicon, inputs) or common.lexicon,
        cast=read_cast(cast_file) if cast_file is not None else None,
        name_template=_template(name_template),
        tags=parse_tags(tag or ()),
        takes=takes or common.takes,
    )
    if common.cast is not None:
        inputs.add(common.cast.path, "the cast")
        check_voices(*common.cast.voices)
    check_voices(common.ref, common.prompt_audio, common.voice)
    if again.review is not None:
        inputs.add(again.review, "the review")
    with timer(EARLIER):
        check_retry(out, policy)
    read = InputOptions(format_named(input_format), encoding, parse_map(column_map or ()), strict)
    with timer("manifest"):
        manifest = read_manifest(source, out, common, inputs, read)
    if any(job.numbered for job in manifest.jobs):
        with timer(EARLIER):
            manifest = keep_numbers(manifest, read_earlier(out), inputs.refuse)
    rerun, review_notes = again.rerun(manifest.jobs)
    kind = subtitles_named(subtitles)
    check_subtitles(kind, checked=check_options is not None)
    artifacts = Artifacts(manifest.jobs, subtitles=kind, join=join, report=report, out=out, inputs=inputs)
    if settings.bitrate is not None and not any(map(has_bitrate, artifacts.formats)):
        raise InputError(
            f"--bitrate needs a format with a bitrate: set --format {bitrate_formats()}, or --join a file of one"
        )
    with timer("plan"):
        plan = make_plan(manifest.jobs, speaker_of(model.model), same_voice)
    if dry_run:
        if check_options is not None:
            from voxcli.check.models import find_check_model

            find_check_model(check_options.model)
        earlier = read_earlier(out)
        plan, voices = preview_voices(plan, earlier, rerun)
        todo = preview(plan, earlier, rerun, speed_of(model), artifacts.beside)
        print("\n".join(map(printable, [*manifest.lines(), *plan.lines(), *voices, *review_notes, *todo])))
        raise typer.Exit(1 if plan.refused else 0)
    from voxcli.run.batch import Backend, LocalBackend, speak_all
    from voxcli.run.progress import stderr_columns

    note = json_note if progress == "json" else notify
    for line in (*manifest.lines(), *review_notes):
        note(line)
    backend: Backend = LocalBackend(check_options)
    if cluster is not None:
        from voxcli.cluster.ray_pool import RayBackend  # imports Ray

        backend = RayBackend(cluster, check_options)
    summary = speak_all(
        plan,
        out,
        model,
        rerun=rerun,
        artifacts=artifacts,
        timer=timer,
        backend=backend,
        progress=cast("ProgressKind", progress),
    )
    timings = timer.lines() if profile else []
    closing = [*summary.lines(), *manifest.notes, *timings, *summary.next_steps(report)]
    if progress == "json":
        for line in closing:
            json_note(line)
    else:
        columns = stderr_columns()
        print("\n".join(line for each in closing for line in wrapped(printable(each), columns)), file=sys.stderr)
    if summary.error is not None:
        raise summary.error
    cut_off, doubtful = summary.cut_off and not allow_truncated, summary.doubtful and not check.allow_doubtful
    if summary.open_failed or cut_off or doubtful:
        raise typer.Exit(1)


def _template(text: str | None) -> Template | None:
    """Parse --name-template. Raises InputError for an empty one."""
    from voxcli.jobs.template import parse_template

    if text is None:
        return None
    if not text.strip():
        raise InputError("--name-template is empty: name a field in it, such as {id}")
    return parse_template(text, "--name-template")
