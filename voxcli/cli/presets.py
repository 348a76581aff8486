"""`voxcpm2 presets`: list the presets, what each sets and why."""

from __future__ import annotations

import typer

from voxcli.cli.help import Command, examples
from voxcli.cli.options import Debug
from voxcli.terminal import printable

EXAMPLES = examples(
    "voxcpm2 presets",
    'voxcpm2 presets && voxcpm2 synth --preset fast "Good morning." -o a.wav',
)


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES)(presets)


def presets(debug: Debug = False) -> None:
    """List the presets: what each one sets, and why.

    A preset is a small .yaml file. Your own presets can be named by path, or by name if they are in the folder shown
    last.
    """
    from voxcli.errors import InputError
    from voxcli.inputs.presets import own_folder, preset_files, read_preset

    files = preset_files()
    width = max(map(len, files)) + 2
    for name, path in files.items():
        try:
            preset = read_preset(str(path))
        except InputError as error:
            print(printable(f"{name:<{width}}{error}"))
            continue
        print(printable(f"{name:<{width}}{preset.description or 'no description'}"))
        sets = ", ".join(f"{setting} {_shown(value)}" for setting, value in preset.values().items())
        print(printable(f"{'':<{width}}{sets or 'sets nothing'}{f' ({path})' if path.parent == own_folder() else ''}"))
    print(f"\nYour own: {own_folder()}/NAME.yaml, or --preset FILE.yaml")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
