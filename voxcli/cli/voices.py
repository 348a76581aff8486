"""`voxcpm2 voices`: recordings kept under a name, encoded once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.terminal import one_line, shown

EXAMPLES = examples(
    "voxcpm2 voices add anna --ref voice.wav",
    'voxcpm2 voices list && voxcpm2 synth --voice anna "The sun is rising." -o sunrise.wav',
)
ADD_EXAMPLES = examples(
    "voxcpm2 voices add anna --ref voice.wav",
    'voxcpm2 voices add anna --ref voice.wav --text "What the voice says." --force',
)
LIST_EXAMPLES = examples("voxcpm2 voices list", "voxcpm2 voices list | grep anna")
REMOVE_EXAMPLES = examples("voxcpm2 voices remove anna", "voxcpm2 voices remove anna ben")


def register(app: typer.Typer) -> None:
    voices = typer.Typer(no_args_is_help=True, rich_markup_mode=None, epilog=EXAMPLES, help=HELP)
    voices.command("add", epilog=ADD_EXAMPLES, no_args_is_help=True)(add)
    voices.command("list", epilog=LIST_EXAMPLES)(list_voices)
    voices.command("remove", epilog=REMOVE_EXAMPLES, no_args_is_help=True)(remove)
    app.add_typer(voices, name="voices")


HELP = """Make, list and remove named voices.

A named voice is a recording that was encoded once, for --voice and for the field voice of a manifest. It is one small
file, and can be copied to other machines that have the same model.
"""


def add(
    name: Annotated[str, typer.Argument(help="Letters, digits, - _ and dots.")],
    ref: Annotated[Path, typer.Option("--ref", metavar="AUDIO", help="A recording of the voice, 1 to 60 seconds.")],
    text: Annotated[
        str | None,
        typer.Option("--text", help="The words of the recording: speech then goes on from it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a voice of this name.")] = False,
    model: options.Model = None,
    device: options.Device = "auto",
    debug: options.Debug = False,
) -> None:
    """Make a named voice of a recording and print its file."""
    from voxcli.engine.load import ModelOptions
    from voxcli.voices.add import add_voice
    from voxcli.voices.store import voice_path

    engine = ModelOptions(model=model, device=device, max_batch=1)
    inputs = options.protected(None, engine)
    inputs.add(ref, "the recording")
    inputs.refuse(voice_path(name))
    added = add_voice(name, ref, text, engine, options.say, replace=force)
    done = ", ".join((f"{added.info.seconds:.1f} s of {ref}", *added.info.notes))
    print(one_line(f"voice {added.path.stem}: {done}"), file=sys.stderr)
    print(added.path)


def list_voices(debug: options.Debug = False) -> None:
    """List the named voices: name, seconds, source, words."""
    from voxcli.errors import InputError
    from voxcli.voices.store import read_info, voice_names, voice_path, voices_folder

    names = voice_names()
    if not names:
        options.say(f"no voices yet in {voices_folder()}; `voxcpm2 voices add NAME --ref FILE` makes one")
    width = max(map(len, names), default=0) + 2
    for name in names:
        try:
            info = read_info(voice_path(name))
            words = f'  "{info.text}"' if info.text else ""
            print(shown(f"{name:<{width}}{info.seconds:5.1f} s  {info.recording}{words}"))
        except InputError as error:
            print(shown(f"{name:<{width}}{error}"))


def remove(
    names: Annotated[list[str], typer.Argument(help="Names of voices.", autocompletion=options.complete_voice)],
    debug: options.Debug = False,
) -> None:
    """Remove named voices. The recordings they were made of stay where they are."""
    from voxcli.voices.store import remove_voice

    for name in names:
        remove_voice(name)
        print(f"removed {name}", file=sys.stderr)
