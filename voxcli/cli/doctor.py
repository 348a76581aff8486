"""`voxcpm2 doctor`: check the installation."""

from __future__ import annotations

import typer

from voxcli.cli.help import Command, examples
from voxcli.cli.options import Debug, Model
from voxcli.errors import ModelError
from voxcli.terminal import printable

EXAMPLES = examples("voxcpm2 doctor", "VOXCPM2_MODEL=./my-checkpoint voxcpm2 doctor")
MARKS = {"ok": "ok", "note": "--", "missing": "!!"}


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES)(doctor)


def doctor(model: Model = None, debug: Debug = False) -> None:
    """Show what is installed, what is missing and how to get it.

    Checks torch, the device, attention, audio files, extras and models, and whether a line that is spoken again has
    the same bytes. The exit code is 3 if no speech can be made here.
    """
    from voxcli.diagnostics.doctor import examine, usable

    findings = []
    for finding in examine(model):
        findings.append(finding)
        remedy = f"  ->  {finding.remedy}" if finding.remedy else ""
        print(printable(f"{MARKS[finding.state]}  {finding.what:<16} {finding.detail}{remedy}"), flush=True)
    if not usable(findings):
        raise typer.Exit(ModelError.exit_code)
