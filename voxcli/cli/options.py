"""The options that several commands share, and the settings they make. Defaults are shown from `run.settings`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voxcli.cluster.options import HANG_S, MAX_RETRIES
from voxcli.errors import InputError
from voxcli.jobs.settings import DEFAULTS, Settings
from voxcli.terminal import one_line

if TYPE_CHECKING:
    from voxcli.engine.load import ModelOptions
    from voxcli.jobs.protected import ProtectedInputs


def complete_preset(incomplete: str) -> list[str]:
    """For the completion of a shell."""
    from voxcli.inputs.presets import preset_names

    return [name for name in preset_names() if name.startswith(incomplete)]


def complete_voice(incomplete: str) -> list[str]:
    from voxcli.voices.store import voice_names

    return [name for name in voice_names() if name.startswith(incomplete)]


def check_device(name: str) -> str:
    """Whether it is here is known later; that there is such a thing, now."""
    if not re.fullmatch(r"auto|cpu(:0)?|cuda(:[0-9]{1,3})?|mps(:0)?", name):
        raise InputError(f"--device is one of auto, cpu, cuda, cuda:N, mps, not {name!r}")
    return name


def check_dtype(name: str) -> str:
    if name not in ("auto", "float32", "bfloat16", "float16"):
        raise InputError(f"--dtype is one of auto, float32, bfloat16, float16, not {name!r}")
    return name


Ref = Annotated[Path | None, typer.Option("--ref", metavar="AUDIO", help="Speak with the voice of this recording.")]
Voice = Annotated[
    str | None,
    typer.Option(
        "--voice",
        metavar="NAME",
        help="Speak with a named voice, see `voxcpm2 voices`.",
        autocompletion=complete_voice,
    ),
]
Control = Annotated[
    str | None,
    typer.Option("--control", metavar="TEXT", help='Describe the voice or the manner, as in "a warm, slow voice".'),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME|FILE",
        help="Settings by name, see `voxcpm2 presets`, or from a .yaml file.",
        autocompletion=complete_preset,
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="The same seed and text give the same audio.  [default: drawn]")
]
Cfg = Annotated[
    float | None,
    typer.Option("--cfg", help=f"How strictly text and voice are followed.  [default: {DEFAULTS.cfg}]"),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", help=f"Solver steps: more is finer and slower, 2 at least.  [default: {DEFAULTS.steps}]"),
]
MinSeconds = Annotated[
    float | None, typer.Option("--min-seconds", help="Shortest audio.  [default: as the model likes]")
]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", help="Longest audio.  [default: by the length of the text]")
]
MaxChars = Annotated[
    int | None,
    typer.Option(
        "--max-chars",
        help=f"Longer text is split at sentences, spoken in pieces and joined.  [default: {DEFAULTS.max_chars}]",
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize/--no-normalize", help="Say numbers, dates, money and addresses as words (extra normalize)."
    ),
]
SampleRate = Annotated[
    int | None, typer.Option("--sample-rate", metavar="HZ", help="Of the file.  [default: the model's own]")
]
Level = Annotated[
    float | None,
    typer.Option(
        "--level",
        metavar="DBFS",
        help="Bring the speech to this RMS level, such as -20, its peak below -1 dBFS.  [default: as it was made]",
    ),
]
OUT_HELP = "File to write: .wav, .flac, .ogg or .mp3; - sends WAV to stdout while it is spoken."
Raw = Annotated[bool, typer.Option("--raw", help="With -o -: samples alone, 16 bit little endian, mono.")]
AllowTruncated = Annotated[
    bool, typer.Option("--allow-truncated", help="Exit with 0 also when it was cut off at a length limit.")
]
SubtitleKind = Annotated[
    str | None,
    typer.Option("--subtitles", metavar="srt|vtt", help="Write subtitles beside the file, SubRip or WebVTT."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="FOLDER|ID",
        help="Checkpoint folder or hub id.  [default: $VOXCPM2_MODEL, openbmb/VoxCPM2 if downloaded, the demo voice]",
    ),
]
Lora = Annotated[
    Path | None,
    typer.Option("--lora", metavar="FOLDER", help="Merge a LoRA adapter: lora_weights.safetensors, lora_config.json."),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="FORMAT",
        help="jsonl, json, csv, tsv, filelist, text, markdown, srt, vtt, xlsx or ods.  [default: by content and name]",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of the input, such as windows-1252.  [default: by its bytes, UTF-8 mostly]"),
]
Device = Annotated[str, typer.Option("--device", callback=check_device, help="auto, cpu, cuda, cuda:N or mps.")]
Dtype = Annotated[str, typer.Option("--dtype", callback=check_dtype, help="auto, float32, bfloat16 or float16.")]
MaxBatch = Annotated[
    int | None, typer.Option("--max-batch", min=1, help="Most requests at once.  [default: by device]")
]
Workers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|auto",
        help="Speak with so many engines at once, each with a GPU or a share of the cores of its own (extra ray).",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS|auto",
        help="Use the machines of this Ray cluster, which the machine here is part of (extra ray).",
    ),
]
MaxRetries = Annotated[
    int | None,
    typer.Option(
        "--max-retries",
        min=0,
        help=f"How often a line is run again whose worker died.  [default: {MAX_RETRIES}]",
    ),
]
HangTimeout = Annotated[
    float | None,
    typer.Option(
        "--hang-timeout",
        min=1,
        metavar="SECONDS",
        help=f"A worker that makes no step for so long is taken for dead.  [default: {HANG_S:.0f}]",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def settings(preset: str | None, base: Settings = DEFAULTS, **said: Any) -> Settings:
    """Defaults, then the preset, then what was said on the command line."""
    if preset is not None:
        from voxcli.inputs.presets import load_preset

        base = base.updated(load_preset(preset))
    return base.updated(said)


def voice_file(voice: str | None, ref: Path | None) -> Path | None:
    """The file of a named voice. Raises InputError when a recording is named as well."""
    if voice is None:
        return None
    if ref is not None:
        raise InputError("--voice and --ref exclude each other: a named voice is made of a recording already")
    from voxcli.voices.store import voice_path

    return voice_path(voice)


def model_options(preset: str | None, **said: Any) -> ModelOptions:
    """What the preset says of the engine, then what was said on the command line."""
    from voxcli.engine.load import ModelOptions

    values: dict[str, Any] = {}
    if preset is not None:
        from voxcli.inputs.presets import read_preset

        values = read_preset(preset).engine.model_dump()
    return ModelOptions(**values | {name: value for name, value in said.items() if value is not None})


def protected(preset: str | None, engine: ModelOptions) -> ProtectedInputs:
    """What every command reads and must not write over: the preset, a model and an adapter that lie in folders."""
    from voxcli.inputs.presets import preset_path
    from voxcli.jobs.protected import ProtectedInputs
    from voxcli.model.hub import VARIABLE

    inputs = ProtectedInputs()
    if preset is not None:
        inputs.add(preset_path(preset), "the preset")
    if model := engine.model or os.environ.get(VARIABLE):
        inputs.add_folder(Path(os.path.expanduser(model)), "the model")
    if engine.lora is not None:
        inputs.add_folder(engine.lora, "the LoRA")
    return inputs


def say(remark: str) -> None:
    """One line for people."""
    print(f"voxcpm2: {one_line(remark)}", file=sys.stderr)


def examples(*lines: str) -> str:
    """The last words of a help text: commands that run."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
