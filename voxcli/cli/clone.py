"""`voxcpm2 clone`: speak one text in the voice of a recording."""

from __future__ import annotations

from typing import Annotated

import typer

from voxcli.cli.check_options import CheckOptionGroup
from voxcli.cli.flatten import flatten, option
from voxcli.cli.help import VOICE, Command, examples
from voxcli.cli.options import Debug, FileOptions, LexiconFile, SingleModelOptions, VoiceOptions, lexicon_of, protected
from voxcli.cli.setting_options import SettingOptions
from voxcli.cli.single import speak
from voxcli.cli.text_options import TextOptions
from voxcli.errors import InputError

EXAMPLES = examples(
    'voxcpm2 clone --ref voice.wav "The sun is rising." -o sunrise.wav',
    'voxcpm2 clone --ref voice.wav --ref-text "I said." "And more." -o b.wav',
)
RefText = Annotated[
    str | None,
    option(VOICE, "--ref-text", metavar="TEXT", help="Words spoken in the recording; speech then continues from it."),
]


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES, no_args_is_help=True)(flatten(clone))


def clone(
    text: TextOptions,
    output: FileOptions,
    voice: VoiceOptions,
    speech: SettingOptions,
    engine: SingleModelOptions,
    check: CheckOptionGroup,
    lexicon: LexiconFile = None,
    ref_text: RefText = None,
    debug: Debug = False,
) -> None:
    """Speak one text in the voice of a recording, or in a named voice.

    With --ref-text, speech continues from the recording as if it had not ended.
    """
    from voxcli.jobs.job import Job
    from voxcli.jobs.output_paths import in_its_format
    from voxcli.text.clean import clean, is_speakable

    settings = speech.settings()
    named = voice.file()
    if named is None and voice.ref is None:
        raise InputError("no voice given: name a recording with --ref, or a voice with --voice")
    if ref_text is not None and not is_speakable(clean(ref_text)):
        raise InputError("--ref-text has no letter and no digit: give the words of the recording")
    if ref_text and voice.ref is None:
        raise InputError(
            "--ref-text needs --ref; a named voice has its own transcript, see `voxcpm2 voices add --text`"
        )
    if ref_text and voice.control:
        raise InputError("--ref-text and --control exclude each other: a voice is continued or described, not both")
    out = output.path(settings.format)
    options = engine.model_options(speech.preset)
    inputs = protected(speech.preset, options)
    text.protect(inputs)
    job = Job(
        out.name,
        text.read(),
        out,
        ref=None if ref_text else voice.ref,
        prompt_audio=voice.ref if ref_text else None,
        prompt_text=ref_text,
        control=voice.control,
        voice=named,
        settings=settings,
        lexicon=lexicon_of(lexicon, inputs),
    )
    speak(in_its_format(job), options, inputs, output, engine.server_url(), check)
