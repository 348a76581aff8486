"""`voxcpm2 bench`: how fast the engine is on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from voxcli.cli import options
from voxcli.cli.options import examples
from voxcli.errors import InputError
from voxcli.jobs.settings import DEFAULTS

EXAMPLES = examples(
    "voxcpm2 bench --concurrency 1,8 --patches 20",
    "voxcpm2 bench --random-weights voxcpm2 --concurrency 1,16,64,128 --patches 100 --json > bench.json",
)


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLES)(bench)


def bench(
    concurrency: Annotated[str, typer.Option("--concurrency", metavar="N,N,..", help="Requests at once.")] = "1,4,16",
    patches: Annotated[int, typer.Option("--patches", min=4, max=2000, help="Patches a request makes.")] = 25,
    prompt_tokens: Annotated[
        int, typer.Option("--prompt-tokens", min=1, max=4000, help="Tokens of text a request has.")
    ] = 50,
    random_weights: Annotated[
        str | None,
        typer.Option("--random-weights", metavar="SIZE", help="A model of random weights made here: voxcpm2."),
    ] = None,
    steps: options.Steps = None,
    cfg: options.Cfg = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw the figures into this picture.")] = None,
    model: options.Model = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    debug: options.Debug = False,
) -> None:
    """Measure how fast the engine is on this machine.

    For each number of requests at once: time a step, real-time factor of one request, throughput of all, how near that
    comes to what the device allows (its copy and matrix product rates are measured first), and where a step goes.
    """
    from rich.console import Console

    from voxcli.engine.load import ModelOptions, load_engine, random_engine

    counts = _counts(concurrency)
    settings = DEFAULTS.updated({"steps": steps, "cfg": cfg})
    chosen = ModelOptions(model, device, dtype, max(counts))
    if plot is not None:
        from voxcli.diagnostics.plot import check_plot, write_plot

        check_plot(plot)
        options.protected(None, chosen).refuse(plot)
    if random_weights is not None and model is not None:
        raise InputError("--random-weights and --model exclude each other")
    loaded = random_engine(random_weights, chosen, options.say) if random_weights else load_engine(chosen, options.say)

    from voxcli.diagnostics.bench import Load, run_bench

    report = run_bench(
        loaded,
        counts,
        Load(patches, prompt_tokens, settings.steps, settings.cfg),
        on_row=lambda requests: options.say(f"{requests} at once ..."),
    )
    if plot is not None:
        write_plot(report, plot)
    if as_json:
        print(json.dumps(report.as_dict(), indent=1))
    else:
        Console().print(*report.tables(), sep="\n\n")


def _counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise InputError(f"--concurrency wants numbers like 1,4,16, not {text!r}")
    return counts
