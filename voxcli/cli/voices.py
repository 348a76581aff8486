"""`voxcpm2 voices`: named voices, recordings that are encoded once and stored under a name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli.flatten import flatten, option
from voxcli.cli.help import CONTEXT, VOICE, Command, Group, examples
from voxcli.cli.options import Debug, Device, Model, notify, protected
from voxcli.cli.values import complete, voice_words
from voxcli.terminal import one_line, printable

HELP = """Add, list and remove named voices.

A named voice is a recording that was encoded once. Use it with --voice or with the field `voice` of a manifest. It is
one file that can be copied to other machines. Another model encodes the recording in it again.
"""
EXAMPLES = examples(
    "voxcpm2 voices add anna --ref voice.wav",
    'voxcpm2 voices list && voxcpm2 synth --voice anna "Good morning." -o a.wav',
)
ADD_EXAMPLES = examples(
    "voxcpm2 voices add anna --ref voice.wav",
    'voxcpm2 voices add anna --ref voice.wav --text "What it says." --force',
)
LIST_EXAMPLES = examples("voxcpm2 voices list", "voxcpm2 voices list | grep anna")
REMOVE_EXAMPLES = examples("voxcpm2 voices remove anna", "voxcpm2 voices remove anna ben")


def register(app: typer.Typer) -> None:
    voices = typer.Typer(
        cls=Group, no_args_is_help=True, rich_markup_mode=None, context_settings=CONTEXT, epilog=EXAMPLES, help=HELP
    )
    voices.command("add", cls=Command, epilog=ADD_EXAMPLES, no_args_is_help=True)(flatten(add))
    voices.command("list", cls=Command, epilog=LIST_EXAMPLES)(list_voices)
    voices.command("remove", cls=Command, epilog=REMOVE_EXAMPLES, no_args_is_help=True)(remove)
    app.add_typer(voices, name="voices")


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, dots, - and _.")],
    ref: Annotated[Path, option(VOICE, "--ref", metavar="FILE", help="Recording of the voice, 1 to 60 seconds long.")],
    text: Annotated[
        str | None,
        option(VOICE, "--text", metavar="TEXT", help="Words spoken in the recording; speech then continues from it."),
    ] = None,
    force: Annotated[bool, option(VOICE, "--force", help="Replace an existing voice of this name.")] = False,
    model: Model = None,
    device: Device = "auto",
    debug: Debug = False,
) -> None:
    """Encode a recording as a named voice and print its file."""
    from voxcli.engine.load import ModelOptions
    from voxcli.voices.add import add_voice
    from voxcli.voices.store import voice_path

    engine = ModelOptions(model=model, device=device, max_batch=1)
    inputs = protected(None, engine)
    inputs.add(ref, "the recording")
    inputs.refuse(voice_path(name))
    added = add_voice(name, ref, text, engine, notify, replace=force)
    done = ", ".join((f"{added.info.seconds:.1f} s of {ref}", *added.info.notes))
    print(one_line(f"voice {added.path.stem}: {done}"), file=sys.stderr)
    print(added.path)


def list_voices(debug: Debug = False) -> None:
    """List the named voices: name, seconds, recording and its words."""
    from voxcli.errors import InputError
    from voxcli.voices.store import read_info, voice_names, voice_path, voices_folder

    names = voice_names()
    if not names:
        notify(f"no voices yet in {voices_folder()}; add one with `voxcpm2 voices add NAME --ref FILE`")
    width = max(map(len, names), default=0) + 2
    for name in names:
        try:
            info = read_info(voice_path(name))
            words = f'  "{info.text}"' if info.text else ""
            print(printable(f"{name:<{width}}{info.seconds:5.1f} s  {info.recording}{words}"))
        except InputError as error:
            print(printable(f"{name:<{width}}{error}"))


def remove(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Voices to remove.", autocompletion=complete(voice_words))
    ],
    debug: Debug = False,
) -> None:
    """Remove named voices. The recordings they were made from are kept."""
    from voxcli.voices.store import remove_voice

    for name in names:
        remove_voice(name)
        print(f"removed {name}", file=sys.stderr)
