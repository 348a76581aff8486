"""`voxcpm2 doctor`: what is here, what is missing, what brings it."""

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
    """Show what is here, what is missing and how to get it.

    Looks at torch, the device, attention, audio files, extras and models, and at whether a line that is spoken again
    has the same bytes. Exit code 3 when the tool can't speak here.
    """
    from voxcli.diagnostics.doctor import examine, usable

    findings = []
    for finding in examine(model):
        findings.append(finding)
        remedy = f"  ->  {finding.remedy}" if finding.remedy else ""
        print(printable(f"{MARKS[finding.state]}  {finding.what:<16} {finding.detail}{remedy}"), flush=True)
    if not usable(findings):
        raise typer.Exit(ModelError.exit_code)
