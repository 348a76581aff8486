"""`voxcpm2 download`: download a checkpoint from the hub into the local cache."""

from __future__ import annotations

from typing import Annotated

import typer

from voxcli.cli.help import Command, examples
from voxcli.cli.options import Debug, RayAddress, notify
from voxcli.errors import ModelNotFound, VoxError
from voxcli.model import hub as models
from voxcli.terminal import counted

EXAMPLES = examples("voxcpm2 download openbmb/VoxCPM2 && voxcpm2 doctor", "voxcpm2 download --ray-address auto")


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES)(download)


def download(
    model: Annotated[str, typer.Argument(metavar="ID", help="Model id on the Hugging Face hub.")] = models.FULL_MODEL,
    ray_address: RayAddress = None,
    debug: Debug = False,
) -> None:
    """Download the full model (about 5 GB) and print its folder.

    Rerun the command to resume an interrupted download. Afterwards all commands use the full model by default. With
    --ray-address, every machine of the cluster downloads it into its own cache.
    """
    if ray_address is not None:
        _download_everywhere(model, ray_address)
        return
    folder = models.download(model, notify)
    models.require(folder)
    print(folder)


def _download_everywhere(model: str, address: str) -> None:
    """Print a line for each machine. Raises ModelNotFound when a download failed."""
    from voxcli.cluster.options import check_address

    check_address(address)
    from voxcli.cluster.ray_pool import fetch_everywhere

    found = fetch_everywhere(address, model, notify)
    failed = {name: error for name, error in found.items() if isinstance(error, VoxError)}
    for name, folder in found.items():
        if name not in failed:
            print(f"{name}: {folder}")
    for name, error in failed.items():
        notify(f"{name}: {error}")
    if failed:
        raise ModelNotFound(f"{len(failed)} of {counted(len(found), 'machine')} could not download {model}")
