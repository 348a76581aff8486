"""`voxcpm2 bench`: how fast the engine is on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.errors import InputError
from voxcli.run.settings import DEFAULTS

EXAMPLES = examples("voxcpm2 bench", "voxcpm2 bench --concurrency 1,4,16 --patches 50 --json > bench.json")


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(bench)


def bench(
    concurrency: Annotated[str, typer.Option("--concurrency", metavar="N,N,..", help="Requests at once.")] = "1,4,16",
    patches: Annotated[int, typer.Option("--patches", min=4, max=2000, help="Patches a request makes.")] = 25,
    steps: options.Steps = None,
    cfg: options.Cfg = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    model: options.Model = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Measure how fast the engine is on this machine.

    For each number of requests at once: time a step, real-time factor of one request, throughput of all.
    """
    from rich.console import Console

    from voxcli.run.load import ModelOptions, load_engine

    counts = _counts(concurrency)
    settings = DEFAULTS.updated({"steps": steps, "cfg": cfg})
    loaded = load_engine(ModelOptions(model, device, dtype, max(counts)), options.say)

    from voxcli.run.bench import run_bench

    report = run_bench(
        loaded,
        counts,
        patches=patches,
        steps=settings.steps,
        cfg=settings.cfg,
        on_row=lambda requests: options.say(f"{requests} at once ..."),
    )
    if as_json:
        print(json.dumps(report.as_dict(), indent=1))
    else:
        Console().print(report.table())


def _counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise InputError(f"--concurrency wants numbers like 1,4,16, not {text!r}")
    return counts
