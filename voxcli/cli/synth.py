"""`voxcpm2 synth`: speak one text into one file."""

from __future__ import annotations

import typer

from voxcli.cli.check_options import CheckOptionGroup
from voxcli.cli.flatten import flatten
from voxcli.cli.help import Command, examples
from voxcli.cli.options import Debug, FileOptions, LexiconFile, SingleModelOptions, VoiceOptions, lexicon_of, protected
from voxcli.cli.setting_options import SettingOptions
from voxcli.cli.single import speak
from voxcli.cli.text_options import TextOptions

EXAMPLES = examples(
    'voxcpm2 synth "The sun is rising." -o sunrise.wav',
    "voxcpm2 synth --file chapter.txt -o chapter.flac --seed 7",
)


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES, no_args_is_help=True)(flatten(synth))


def synth(
    text: TextOptions,
    output: FileOptions,
    voice: VoiceOptions,
    speech: SettingOptions,
    engine: SingleModelOptions,
    check: CheckOptionGroup,
    lexicon: LexiconFile = None,
    debug: Debug = False,
) -> None:
    """Speak one text of any length into a file."""
    from voxcli.jobs.job import Job
    from voxcli.jobs.output_paths import in_its_format

    settings = speech.settings()
    out = output.path(settings.format)
    options = engine.model_options(speech.preset)
    inputs = protected(speech.preset, options)
    text.protect(inputs)
    job = Job(
        out.name,
        text.read(),
        out,
        ref=voice.ref,
        control=voice.control,
        voice=voice.file(),
        settings=settings,
        lexicon=lexicon_of(lexicon, inputs),
    )
    speak(in_its_format(job), options, inputs, output, engine.server_url(), check)
