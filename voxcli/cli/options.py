"""Options shared by several commands, in groups (see `flatten`), and the values made from them.

`setting_options` has the options for the settings of a job.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from voxcli.audio.formats import EXTENSIONS
from voxcli.cli.flatten import OptionGroup, option
from voxcli.cli.help import INPUT, MODEL, OTHER, OUTPUT, SPEECH, VOICE, WORKERS
from voxcli.cli.values import complete, input_words, number, subtitle_words, voice_words, word
from voxcli.cluster.options import HANG_S, MAX_RETRIES, ClusterOptions, cluster_options
from voxcli.errors import InputError
from voxcli.files.located import located
from voxcli.terminal import one_line

if TYPE_CHECKING:
    from voxcli.engine.load import ModelOptions
    from voxcli.jobs.protected import ProtectedInputs
    from voxcli.jobs.samevoice import SameVoice
    from voxcli.text.lexicon import Lexicon

DEVICES = ("auto", "cpu", "cuda", "mps")
DEVICE = re.compile(r"auto|cpu(:0)?|cuda(:[0-9]{1,3})?|mps(:0)?")
KEY = "VOXCPM2_API_KEY"  # of a server
SERVER = "VOXCPM2_SERVER"
DTYPES = ("auto", "float32", "bfloat16", "float16")


Debug = Annotated[bool, option(OTHER, "--debug", help="Show the traceback of an error.")]
InputFormat = Annotated[
    str | None,
    option(
        INPUT,
        "--input-format",
        metavar="FORMAT",
        autocompletion=complete(input_words),
        show_default="by content and name",
        help="jsonl, json, csv, tsv, filelist, text, markdown, ssml, srt, vtt, xlsx or ods.",
    ),
]
Encoding = Annotated[
    str | None,
    option(
        INPUT,
        "--encoding",
        metavar="NAME",
        show_default="by content, usually UTF-8",
        help="Encoding of the input, such as windows-1252.",
    ),
]
LexiconFile = Annotated[
    Path | None,
    option(
        SPEECH,
        "--lexicon",
        metavar="FILE",
        help="Pronunciation of names and terms: a table (word, tab, spoken form) or YAML (word: spoken form).",
    ),
]
SubtitleKind = Annotated[
    str | None,
    option(
        OUTPUT,
        "--subtitles",
        metavar="srt|vtt|words|karaoke",
        autocompletion=complete(subtitle_words),
        help="Write subtitles next to the audio file: SubRip or WebVTT, or with --check by word: WebVTT with the "
        "time of each word, or .ass with karaoke tags.",
    ),
]
Model = Annotated[
    str | None,
    option(
        MODEL,
        "--model",
        metavar="FOLDER|ID",
        show_default="$VOXCPM2_MODEL, else openbmb/VoxCPM2 if it is downloaded, else the demo voice",
        help="Checkpoint folder, or model id on the Hugging Face hub.",
    ),
]
Device = Annotated[
    str,
    option(
        MODEL,
        "--device",
        metavar="DEVICE",
        parser=word("--device", "auto, cpu, cuda, cuda:N, mps", DEVICE),
        autocompletion=complete(lambda: DEVICES),
        help="Device to run on: auto, cpu, cuda, cuda:N or mps.",
    ),
]
Dtype = Annotated[
    str,
    option(
        MODEL,
        "--dtype",
        metavar="DTYPE",
        parser=word("--dtype", ", ".join(DTYPES)),
        autocompletion=complete(lambda: DTYPES),
        help="Precision of the weights: auto, float32, bfloat16 or float16.",
    ),
]
TagList = Annotated[
    list[str] | None,
    option(
        OUTPUT,
        "--tag",
        metavar="NAME=TEXT",
        help="Write tags into the files: album=Tales, date=2026. Title and artist are added. TEXT may name {fields}.",
    ),
]
RayAddress = Annotated[
    str | None,
    option(
        WORKERS,
        "--ray-address",
        metavar="HOST:PORT|auto",
        help="Use the machines of a Ray cluster that this machine belongs to (needs the extra `ray`).",
    ),
]


@dataclass(frozen=True)
class FileOptions(OptionGroup):
    """The output of one text."""

    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "--out",
            "-o",
            metavar="FILE",
            show_default="speech.wav, or the next free name",
            help=f"Audio file to write: {', '.join(EXTENSIONS[:-1])} or {EXTENSIONS[-1]}; - streams WAV to stdout.",
        ),
    ] = None
    play: Annotated[
        bool,
        option(
            OUTPUT,
            "--play",
            help="Play the speech while it is generated, without writing a file; with -o, after the file is written.",
        ),
    ] = False
    subtitles: SubtitleKind = None
    tag: TagList = None
    raw: Annotated[
        bool,
        option(OUTPUT, "--raw", help="With -o -: stream bare samples, 16-bit little-endian mono, without a header."),
    ] = False
    allow_truncated: Annotated[
        bool, option(OUTPUT, "--allow-truncated", help="Exit with 0 even if the speech was cut off at a length limit.")
    ] = False

    def path(self, format: str | None) -> Path:
        """Return the file to write, - for a stream. format: of the settings, for a file without a name.

        Raises InputError for an unknown format.
        """
        if self.out is not None:
            return self.out
        if self.play:
            return Path("-")
        from voxcli.files.names import free_name
        from voxcli.jobs.output_paths import extension_of

        beside = (f".{self.subtitles}",) if self.subtitles else ()
        return free_name("speech", extension_of(format), beside)


@dataclass(frozen=True)
class VoiceOptions(OptionGroup):
    """The voice."""

    ref: Annotated[
        Path | None,
        option(VOICE, "--ref", metavar="FILE", help="Recording of the voice to speak with, 1 to 60 seconds long."),
    ] = None
    voice: Annotated[
        str | None,
        option(
            VOICE,
            "--voice",
            metavar="NAME",
            autocompletion=complete(voice_words),
            help="Named voice to speak with, see `voxcpm2 voices`.",
        ),
    ] = None
    control: Annotated[
        str | None,
        option(VOICE, "--control", metavar="TEXT", help='Description of the voice or the style: "a warm, slow voice".'),
    ] = None

    def file(self) -> Path | None:
        """The file of the named voice. Raises InputError when a recording is named as well."""
        if self.voice is None:
            return None
        if self.ref is not None:
            raise InputError("--voice and --ref exclude each other: a named voice already contains a recording")
        from voxcli.voices.store import voice_path

        return voice_path(self.voice)


@dataclass(frozen=True)
class SameVoiceOptions(OptionGroup):
    """Whether lines without a voice share one."""

    same_voice: Annotated[
        bool | None,
        option(
            VOICE,
            "--same-voice/--no-same-voice",
            show_default="with --join",
            help="Speak all lines without a voice in the voice of the first one.",
        ),
    ] = None
    voice_seed: Annotated[
        int | None,
        option(
            VOICE,
            "--voice-seed",
            metavar="N",
            parser=number("--voice-seed", int, 0, 2**63 - 1),
            help="Seed of that first line: another seed, another voice.",
        ),
    ] = None

    def value(self, *, joined: bool) -> SameVoice:
        """Raises InputError for options that exclude each other. joined: the files are joined into one."""
        from voxcli.jobs.samevoice import SameVoice

        if self.voice_seed is not None and self.same_voice is False:
            raise InputError("--voice-seed and --no-same-voice exclude each other")
        return SameVoice(self.same_voice, joined, self.voice_seed)


@dataclass(frozen=True)
class ModelOptionGroup(OptionGroup):
    """The model and the device."""

    model: Model = None
    lora: Annotated[
        Path | None,
        option(
            MODEL,
            "--lora",
            metavar="FOLDER",
            help="LoRA adapter to merge into the model: a folder with lora_weights.safetensors and lora_config.json.",
        ),
    ] = None
    device: Device = "auto"
    dtype: Dtype = "auto"

    def model_options(self, preset: str | None) -> ModelOptions:
        """Return the engine's options. Command-line options override those of the preset. Raises InputError."""
        from voxcli.engine.load import ModelOptions

        values: dict[str, Any] = {}
        if preset is not None:
            from voxcli.inputs.presets import read_preset

            values = read_preset(preset).engine.model_dump()
        return ModelOptions(**values | {name: value for name, value in vars(self).items() if value is not None})


@dataclass(frozen=True)
class SingleModelOptions(ModelOptionGroup):
    """The model, or a server that has one."""

    server: Annotated[
        str | None,
        option(
            MODEL,
            "--server",
            metavar="URL",
            show_default=f"${SERVER}, else none",
            help="Speak on a running `voxcpm2 serve` instead of loading a model here.",
        ),
    ] = None

    def server_url(self) -> str | None:
        """The server to speak on; None to load a model. Raises InputError when both are named."""
        here = {"--model": self.model, "--lora": self.lora, "--device": self.device, "--dtype": self.dtype}
        named = [name for name, value in here.items() if value not in (None, "auto")]
        if self.server is not None and named:
            raise InputError(f"--server and {named[0]} exclude each other: a server has its own model")
        return self.server if self.server is not None or named else os.environ.get(SERVER) or None

    def model_options(self, preset: str | None) -> ModelOptions:
        return ModelOptionGroup(self.model, self.lora, self.device, self.dtype).model_options(preset)


@dataclass(frozen=True)
class BatchModelOptions(ModelOptionGroup):
    max_batch: Annotated[
        int | None,
        option(
            MODEL,
            "--max-batch",
            metavar="N",
            parser=number("--max-batch", int, 1),
            show_default="by device",
            help="Maximum number of requests at once.",
        ),
    ] = None


@dataclass(frozen=True)
class WorkerOptions(OptionGroup):
    """Engines in separate processes, on one machine or several."""

    workers: Annotated[
        str | None,
        option(
            WORKERS,
            "--workers",
            metavar="N|auto",
            help="Number of worker processes, one per GPU or per share of the CPU cores (needs the extra `ray`).",
        ),
    ] = None
    ray_address: RayAddress = None
    max_retries: Annotated[
        int | None,
        option(
            WORKERS,
            "--max-retries",
            metavar="N",
            parser=number("--max-retries", int, 0),
            show_default=str(MAX_RETRIES),
            help="How often to retry a line whose worker died.",
        ),
    ] = None
    hang_timeout: Annotated[
        float | None,
        option(
            WORKERS,
            "--hang-timeout",
            metavar="SECONDS",
            parser=number("--hang-timeout", float, 1),
            show_default=f"{HANG_S:.0f}",
            help="Replace a worker that has made no progress for this long.",
        ),
    ] = None

    def cluster(self) -> ClusterOptions | None:
        return cluster_options(self.workers, self.ray_address, self.max_retries, self.hang_timeout)


def protected(preset: str | None, engine: ModelOptions) -> ProtectedInputs:
    """Return the inputs common to all commands: the preset file, and the folders of the model and the adapter."""
    from voxcli.jobs.protected import ProtectedInputs
    from voxcli.model.hub import VARIABLE

    inputs = ProtectedInputs()
    if preset is not None:
        from voxcli.inputs.presets import preset_path

        inputs.add(preset_path(preset), "the preset")
    if model := engine.model or os.environ.get(VARIABLE):
        inputs.add_folder(located(model), "the model")
    if engine.lora is not None:
        inputs.add_folder(engine.lora, "the LoRA")
    return inputs


def lexicon_of(path: Path | None, inputs: ProtectedInputs) -> Lexicon | None:
    """Read a command's lexicon and add it to the protected inputs. Raises InputError when it is invalid."""
    if path is None:
        return None
    from voxcli.inputs.lexicon import read_lexicon

    inputs.add(path, "the lexicon")
    return read_lexicon(path, named=True)


def json_note(remark: str) -> None:
    """Print a message for programs to stderr, as a line of JSON."""
    print(json.dumps({"event": "note", "message": one_line(remark)}), file=sys.stderr)


def notify(remark: str) -> None:
    """Print a message for people to stderr, as one line."""
    print(f"voxcpm2: {one_line(remark)}", file=sys.stderr)
