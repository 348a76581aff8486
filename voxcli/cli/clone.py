"""`voxcpm2 clone`: one text in the voice of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.cli.single import speak
from voxcli.cli.synth import protect_text, read_text
from voxcli.errors import InputError

EXAMPLES = examples(
    'voxcpm2 clone --ref voice.wav "The sun is rising." -o sunrise.wav',
    'voxcpm2 clone --ref voice.wav --ref-text "What the voice says." "And what it goes on to say." -o more.wav',
)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, no_args_is_help=True)(clone)


def clone(
    out: Annotated[Path, typer.Option("--out", "-o", help=options.OUT_HELP)],
    text: Annotated[str | None, typer.Argument(help="The text; - reads it from stdin.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from a file; - is stdin.")] = None,
    ref: Annotated[
        Path | None, typer.Option("--ref", metavar="AUDIO", help="A recording of the voice, 1 to 60 seconds.")
    ] = None,
    voice: options.Voice = None,
    ref_text: Annotated[
        str | None,
        typer.Option("--ref-text", metavar="TEXT", help="The words of the recording: speech then goes on from it."),
    ] = None,
    control: options.Control = None,
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
    input_format: options.InputFormat = None,
    encoding: options.Encoding = None,
    raw: options.Raw = False,
    allow_truncated: options.AllowTruncated = False,
    model: options.Model = None,
    lora: options.Lora = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Speak one text in the voice of a recording, or in a named voice.

    With --ref-text, speech goes on from the recording as if it had not ended.
    """
    from voxcli.run.speak import single_job

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
    )
    named = options.voice_file(voice, ref)
    if named is None and ref is None:
        raise InputError("whose voice? name a recording with --ref, or a voice with --voice")
    if ref_text and ref is None:
        raise InputError(
            "--ref-text says the words of --ref; a named voice has its own, see `voxcpm2 voices add --text`"
        )
    engine = options.model_options(preset, model=model, lora=lora, device=device, dtype=dtype)
    inputs = options.protected(preset, engine)
    protect_text(inputs, text, file)
    job = single_job(
        read_text(text, file, input_format, encoding),
        out,
        ref=None if ref_text else ref,
        prompt_audio=ref if ref_text else None,
        prompt_text=ref_text,
        control=control,
        voice=named,
        settings=settings,
    )
    speak(job, engine, inputs, subtitles=subtitles, raw=raw, allow_truncated=allow_truncated)
