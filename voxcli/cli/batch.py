"""`voxcpm2 batch`: a manifest into a folder of files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples

EXAMPLES = examples(
    "voxcpm2 batch lines.jsonl -o speech",
    "voxcpm2 batch script.txt -o speech --ref voice.wav --dry-run",
)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, no_args_is_help=True)(batch)


def batch(
    manifest: Annotated[
        str, typer.Argument(help="JSON Lines, a JSON array, CSV, TSV or one text a line; - reads stdin.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the files and results.jsonl.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan and stop.")] = False,
    ref: options.Ref = None,
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
    max_batch: options.MaxBatch = None,
    model: options.Model = None,
    lora: options.Lora = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Speak every line of a manifest into its own file.

    Many lines are spoken at once. What a line says itself goes before the options here. A line that fails is told and
    noted in results.jsonl; the others run, and the exit code is 1.
    """
    from voxcli.run.manifest import Common, read_manifest
    from voxcli.run.plan import make_plan
    from voxcli.run.speak import speak_all

    settings = options.settings(
        preset,
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
    plan = make_plan(read_manifest(manifest, out, Common(settings, ref=ref, control=control)))
    if dry_run:
        print("\n".join(plan.lines()))
        raise typer.Exit(1 if plan.refused else 0)
    summary = speak_all(plan, out, engine)
    print("\n".join(summary.lines()), file=sys.stderr)
    if summary.failed:
        raise typer.Exit(1)
