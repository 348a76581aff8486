"""`voxcpm2 synth`: one text into one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.cli.single import speak
from voxcli.errors import InputError
from voxcli.files.read import read_named, read_stream

if TYPE_CHECKING:
    from voxcli.jobs.protected import ProtectedInputs

MOST_BYTES = 1 << 26  # of a text: the longest novels have a tenth of it
EXAMPLES = examples(
    'voxcpm2 synth "The sun is rising." -o sunrise.wav',
    "voxcpm2 synth --file chapter.txt -o chapter.flac --seed 7",
)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES, no_args_is_help=True)(synth)


def synth(
    out: Annotated[Path, typer.Option("--out", "-o", help=options.OUT_HELP)],
    text: Annotated[str | None, typer.Argument(help="The text; - reads it from stdin.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the text from a file; - is stdin.")] = None,
    ref: options.Ref = None,
    voice: options.Voice = None,
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
    raw: options.Raw = False,
    allow_truncated: options.AllowTruncated = False,
    model: options.Model = None,
    lora: options.Lora = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Speak one text, of any length, into a file."""
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
    engine = options.model_options(preset, model=model, lora=lora, device=device, dtype=dtype)
    inputs = options.protected(preset, engine)
    protect_text(inputs, text, file)
    named = options.voice_file(voice, ref)
    job = single_job(read_text(text, file), out, ref=ref, control=control, voice=named, settings=settings)
    speak(job, engine, inputs, subtitles=subtitles, raw=raw, allow_truncated=allow_truncated)


def protect_text(inputs: ProtectedInputs, text: str | None, file: Path | None) -> None:
    """Add the file that the text comes from, if it comes from one."""
    if file is not None and str(file) != "-":
        inputs.add(file, "the text")
    elif file is not None or text == "-":
        inputs.add_stream(sys.stdin, "the text")


def read_text(text: str | None, file: Path | None) -> str:
    """The text of the argument, of a file or of stdin. Raises InputError when there is none, or more than one."""
    if text is not None and file is not None:
        raise InputError("give the text as an argument, or with --file, and not both")
    if text is None and file is None:
        raise InputError("no text given")
    if text is not None and text != "-":
        return text
    from voxcli.inputs.rows import decode

    try:
        if file is None or str(file) == "-":
            return decode(read_stream(sys.stdin.buffer, MOST_BYTES), "stdin")
        return decode(read_named(file, MOST_BYTES), str(file))
    except OSError as error:
        raise InputError(f"can't read {file or 'stdin'}: {error.strerror or error}") from error
