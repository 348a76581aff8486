"""`voxcpm2 download`: bring a checkpoint from the hub into the local cache."""

from __future__ import annotations

from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.run import models

EXAMPLES = examples("voxcpm2 download", "voxcpm2 download openbmb/VoxCPM2 && voxcpm2 doctor")


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(download)


def download(
    model: Annotated[str, typer.Argument(help="Hub id of a VoxCPM2 checkpoint.")] = models.FULL_MODEL,
    debug: options.Debug = False,
) -> None:
    """Fetch the full model (about 5 GB) and print its folder.

    Interrupted, the same command goes on where it stopped. Afterwards the full model is what every command speaks
    with unless another is named.
    """
    folder = models.download(model, options.say)
    models.require(folder)
    print(folder)
