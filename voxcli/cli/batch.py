"""`voxcpm2 batch`: a manifest into a folder of files."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.errors import InputError

EXAMPLES = examples(
    "voxcpm2 batch lines.jsonl -o speech",
    "voxcpm2 batch script.txt -o speech --ref voice.wav --dry-run",
)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, no_args_is_help=True)(batch)


def batch(
    manifest: Annotated[
        str,
        typer.Argument(
            help="JSON Lines, a table (.csv, .tsv, .xlsx, .ods), Markdown, subtitles or one text a line; - reads stdin."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files and results.jsonl.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Speak all lines again, also those unchanged.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Speak only the lines that failed in an earlier run.")
    ] = False,
    allow_truncated: Annotated[
        bool, typer.Option("--allow-truncated", help="Exit with 0 also when a line was cut off at a length limit.")
    ] = False,
    defaults: Annotated[
        Path | None,
        typer.Option("--defaults", metavar="FILE", help="A .yaml file of fields for lines that do not say them."),
    ] = None,
    input_format: options.InputFormat = None,
    encoding: options.Encoding = None,
    column_map: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="Columns by other names, as in text=Line,voice=Character."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse columns and fields that are unknown, instead of keeping them.")
    ] = False,
    ref: options.Ref = None,
    voice: options.Voice = None,
    control: options.Control = None,
    file_format: Annotated[
        str | None,
        typer.Option("--format", help="wav, wav24, wavf, flac, ogg or mp3, where a line does not say.  [default: wav]"),
    ] = None,
    preset: options.Preset = None,
    seed: options.Seed = None,
    cfg: options.Cfg = None,
    steps: options.Steps = None,
    min_seconds: options.MinSeconds = None,
    max_seconds: options.MaxSeconds = None,
    max_chars: options.MaxChars = None,
    normalize: options.Normalize = None,
    sample_rate: options.SampleRate = None,
    level: options.Level = None,
    subtitles: options.SubtitleKind = None,
    join: Annotated[
        Path | None,
        typer.Option("--join", metavar="FILE", help="Join all files to this one, in the order of the manifest."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="HTML", help="Make a page of all lines, to listen and compare.")
    ] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Tell in the end how long each stage took.")] = False,
    workers: options.Workers = None,
    ray_address: options.RayAddress = None,
    max_retries: options.MaxRetries = None,
    hang_timeout: options.HangTimeout = None,
    max_batch: options.MaxBatch = None,
    model: options.Model = None,
    lora: options.Lora = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Speak every line of a manifest into its own file.

    Many lines are spoken at once. What a line says itself goes before the options here. A line that fails is told and
    noted in results.jsonl; the others run, and the exit code is 1. The same command again, also after a crash, speaks
    what is missing, failed or changed and keeps the rest.
    """
    if force and retry_failed:
        raise InputError("--force and --retry-failed exclude each other")
    from voxcli.artifacts.artifacts import Products
    from voxcli.artifacts.subtitles import subtitles_named
    from voxcli.cluster.options import make_crew
    from voxcli.inputs.columns import parse_map
    from voxcli.inputs.defaults import read_defaults
    from voxcli.inputs.document import InputOptions, format_named
    from voxcli.inputs.manifest import LineDefaults, read_manifest
    from voxcli.jobs.plan import make_plan
    from voxcli.run.profile import Stages
    from voxcli.run.resume import Redo, preview
    from voxcli.run.speeds import speed_of
    from voxcli.terminal import shown

    stages = Stages()
    crew = make_crew(workers, ray_address, max_retries, hang_timeout)
    common = read_defaults(defaults) if defaults is not None else LineDefaults()
    settings = options.settings(
        preset,
        common.settings,
        seed=seed,
        cfg=cfg,
        steps=steps,
        min_seconds=min_seconds,
        max_seconds=max_seconds,
        max_chars=max_chars,
        normalize=normalize,
        sample_rate=sample_rate,
        level=level,
        format=file_format,
    )
    engine = options.model_options(preset, model=model, lora=lora, device=device, dtype=dtype, max_batch=max_batch)
    inputs = options.protected(preset, engine)
    if defaults is not None:
        inputs.add(defaults, "the defaults file")
    named = options.voice_file(voice, ref)
    if named is not None:
        common = replace(common, ref=None, prompt_audio=None, prompt_text=None)
    common = replace(
        common,
        settings=settings,
        ref=ref or common.ref,
        voice=named or (None if ref else common.voice),
        control=control or common.control,
    )
    read = InputOptions(format_named(input_format), encoding, parse_map(column_map or ()), strict)
    with stages("manifest"):
        found = read_manifest(manifest, out, common, inputs, read)
    kind = subtitles_named(subtitles)
    products = Products(found.jobs, subtitles=kind, join=join, report=report, out=out, inputs=inputs)
    with stages("plan"):
        plan = make_plan(found.jobs)
    redo: Redo = "all" if force else "failed" if retry_failed else "changed"
    if dry_run:
        print("\n".join(map(shown, [*found.lines(), *plan.lines(), *preview(plan, out, redo, speed_of(engine))])))
        raise typer.Exit(1 if plan.refused else 0)
    from voxcli.run.speak import speak_all

    for line in found.lines():
        options.say(line)
    speakers = None
    if crew is not None:
        from voxcli.cluster.ray_pool import speak_on  # brings Ray: only when that is asked for

        speakers = partial(speak_on, crew)
    summary = speak_all(plan, out, engine, redo=redo, products=products, stages=stages, workers=speakers)
    print(
        "\n".join(map(shown, [*summary.lines(), *found.notes, *(stages.lines() if profile else [])])), file=sys.stderr
    )
    if summary.error is not None:
        raise summary.error
    if summary.failed or (summary.cut_off and not allow_truncated):
        raise typer.Exit(1)
