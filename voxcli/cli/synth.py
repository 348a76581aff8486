"""`voxcpm2 synth`: one text into one file."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.cli.single import speak
from voxcli.errors import InputError

if TYPE_CHECKING:
    from voxcli.jobs.protected import ProtectedInputs

MAX_BYTES = 1 << 26  # of a text: the longest novels have a tenth of it
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
    words = read_text(text, file, input_format, encoding)
    job = single_job(words, out, ref=ref, control=control, voice=named, settings=settings)
    speak(job, engine, inputs, subtitles=subtitles, raw=raw, allow_truncated=allow_truncated)


def protect_text(inputs: ProtectedInputs, text: str | None, file: Path | None) -> None:
    """Add the file that the text comes from, if it comes from one."""
    if file is not None and str(file) != "-":
        inputs.add(file, "the text")
    elif file is not None or text == "-":
        inputs.add_stream(sys.stdin, "the text")


def read_text(text: str | None, file: Path | None, input_format: str | None = None, encoding: str | None = None) -> str:
    """The text of the argument, of a file or of stdin. Raises InputError when there is none, or more than one."""
    if text is not None and file is not None:
        raise InputError("give the text as an argument, or with --file, and not both")
    if text is None and file is None:
        raise InputError("no text given")
    if text is not None and text != "-":
        _refuse_file_name(text)
        return text
    from voxcli.inputs.columns import Columns
    from voxcli.inputs.document import STDIN, InputOptions, describe, format_named, notes, open_document, read_prose
    from voxcli.inputs.rows import Remarks

    read = InputOptions(format_named(input_format), encoding)
    columns, remarks = Columns(), Remarks()
    document = open_document(STDIN if file is None else str(file), MAX_BYTES, read, columns)
    found = read_prose(document, remarks)
    told = notes(remarks, columns)
    if document.format != "text" or document.encoding is not None:
        told.insert(0, describe(document, None, remarks))
    for note in told:
        options.say(f"{document.name}: {note}")
    return found


def _refuse_file_name(text: str) -> None:
    """Nobody wants the name of a file spoken that lies right here."""
    if re.fullmatch(r"\S{1,250}\.\w{1,8}", text) and os.path.isfile(text):
        raise InputError(f"{text!r} is a file here: speak what is in it with --file {text}")
