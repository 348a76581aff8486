"""`voxcpm2 bench`: measure how fast the engine is on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voxcli.cli.flatten import option
from voxcli.cli.help import MEASURE, MODEL, Command, examples
from voxcli.cli.options import Debug, Device, Dtype, Model, notify, protected
from voxcli.cli.setting_options import setting_option
from voxcli.cli.values import number
from voxcli.errors import InputError, quoted
from voxcli.jobs.settings import DEFAULTS

if TYPE_CHECKING:
    from voxcli.diagnostics.bench import BenchReport
    from voxcli.diagnostics.solver_error import SolverReport

CONCURRENCY = "1,4,16"
PROMPT_TOKENS = 50
EXAMPLES = examples(
    "voxcpm2 bench --concurrency 1,8 --patches 20 && voxcpm2 bench --solver-error",
    "voxcpm2 bench --random-weights voxcpm2 --concurrency 64 --json > bench.json",
)


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES)(bench)


def bench(
    concurrency: Annotated[
        str | None,
        option(
            MEASURE,
            "--concurrency",
            metavar="N,N,...",
            show_default=CONCURRENCY,
            help="Numbers of concurrent requests to measure.",
        ),
    ] = None,
    patches: Annotated[
        int,
        option(
            MEASURE,
            "--patches",
            metavar="N",
            parser=number("--patches", int, 4, 2000),
            help="Patches of audio per request.",
        ),
    ] = 25,
    prompt_tokens: Annotated[
        int | None,
        option(
            MEASURE,
            "--prompt-tokens",
            metavar="N",
            parser=number("--prompt-tokens", int, 1, 4000),
            show_default=str(PROMPT_TOKENS),
            help="Text tokens per request.",
        ),
    ] = None,
    solver: Annotated[str | None, setting_option("solver")] = None,
    steps: Annotated[int | None, setting_option("steps")] = None,
    cfg: Annotated[float | None, setting_option("cfg")] = None,
    as_json: Annotated[bool, option(MEASURE, "--json", help="Print JSON instead of tables.")] = False,
    plot: Annotated[
        Path | None, option(MEASURE, "--plot", metavar="FILE", help="Also draw the results as an image.")
    ] = None,
    solver_error: Annotated[
        bool,
        option(
            MEASURE,
            "--solver-error",
            help="Measure the error of the solvers on this model instead of speed.",
        ),
    ] = False,
    random_weights: Annotated[
        str | None,
        option(MODEL, "--random-weights", metavar="voxcpm2", help="Measure a model of this size with random weights."),
    ] = None,
    model: Model = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    debug: Debug = False,
) -> None:
    """Measure how fast the engine is on this machine.

    Reports for each number of concurrent requests: time per step, real-time factor of a request, total throughput,
    the roofline of the device (its copy and matrix multiplication rates are measured first), and how the time of a
    step is spent. With --solver-error: the error of each solver against 200 midpoint steps, with one more row for
    --solver and --steps.
    """
    from rich.console import Console

    from voxcli.engine.load import ModelOptions, load_engine, random_engine

    settings = DEFAULTS.updated({"solver": solver, "steps": steps, "cfg": cfg})
    if solver_error:
        _refuse_beside_solver_error({"--concurrency": concurrency, "--prompt-tokens": prompt_tokens, "--plot": plot})
    counts = _counts(concurrency or CONCURRENCY)
    chosen = ModelOptions(model, device, dtype, 1 if solver_error else max(counts))
    if plot is not None:
        from voxcli.diagnostics.plot import check_plot, write_plot

        check_plot(plot)
        protected(None, chosen).refuse(plot)
    if random_weights is not None and model is not None:
        raise InputError("--random-weights and --model exclude each other")
    loaded = random_engine(random_weights, chosen, notify) if random_weights else load_engine(chosen, notify)

    from voxcli.model.solver import Solver

    asked = Solver(settings.solver, settings.steps)
    report: BenchReport | SolverReport
    if solver_error:
        from voxcli.diagnostics.solver_error import measure_solvers

        report = measure_solvers(loaded, settings.cfg, patches, asked, notify)
    else:
        from voxcli.diagnostics.bench import Workload, run_bench

        load = Workload(patches, prompt_tokens or PROMPT_TOKENS, asked, settings.cfg)
        report = run_bench(loaded, counts, load, on_row=lambda requests: notify(f"{requests} concurrent ..."))
        if plot is not None:
            write_plot(report, plot)
    if as_json:
        print(json.dumps(report.as_dict(), indent=1))
    else:
        Console().print(*report.tables(), sep="\n\n")


def _refuse_beside_solver_error(others: dict[str, object]) -> None:
    """Raise InputError if an option is set that applies only to speed measurements."""
    for name, value in others.items():
        if value is not None:
            raise InputError(f"--solver-error and {name} exclude each other")


def _counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise InputError(f"--concurrency must be numbers like 1,4,16, not {quoted(text)}")
    return counts
