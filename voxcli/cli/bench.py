"""`voxcpm2 bench`: measure how fast the engine is on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from voxcli.cli.flatten import option
from voxcli.cli.help import MEASURE, MODEL, SERVE, Command, examples
from voxcli.cli.options import KEY, Debug, Device, Dtype, Model, notify, protected
from voxcli.cli.setting_options import setting_option
from voxcli.cli.values import number
from voxcli.errors import InputError, quoted
from voxcli.jobs.settings import DEFAULTS

if TYPE_CHECKING:
    from voxcli.diagnostics.bench import BenchReport
    from voxcli.diagnostics.solver_error import SolverReport

CONCURRENCY = "1,4,16"
RATES = "1,2,5,10"
SECONDS = 60.0
PATCHES = 25
PROMPT_TOKENS = 50
EXAMPLES = examples(
    "voxcpm2 bench --random-weights voxcpm2 --concurrency 64 --json > bench.json",
    "voxcpm2 bench --server http://127.0.0.1:8000 --rate 1,2,5 --seconds 30",
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
        int | None,
        option(
            MEASURE,
            "--patches",
            metavar="N",
            parser=number("--patches", int, 4, 2000),
            show_default=str(PATCHES),
            help="Patches of audio per request.",
        ),
    ] = None,
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
    server: Annotated[
        str | None,
        option(SERVE, "--server", metavar="URL", help="Measure streams of a running `voxcpm2 serve` instead."),
    ] = None,
    rate: Annotated[
        str | None,
        option(
            SERVE,
            "--rate",
            metavar="N,N,...",
            show_default=RATES,
            help="With --server: arrivals per second, at random times.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        option(
            SERVE,
            "--seconds",
            metavar="SECONDS",
            parser=number("--seconds", float, 1, 86_400),
            show_default=f"{SECONDS:g}",
            help="With --server: duration of each measurement, after a warm-up of 5 s.",
        ),
    ] = None,
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
    if server is not None:
        of_engine: dict[str, object] = {"--model": model, "--random-weights": random_weights, "--patches": patches}
        of_engine |= {"--prompt-tokens": prompt_tokens, "--solver": solver, "--steps": steps, "--cfg": cfg}
        _exclude("--server", of_engine | {"--solver-error": solver_error or None})
        if concurrency is None and rate is None:
            rate = RATES
        counts = _counts(concurrency) if concurrency else []
        _bench_server(server, ServerLoad(_rates(rate), counts, seconds or SECONDS), as_json, plot)
        return
    for name, value in {"--rate": rate, "--seconds": seconds}.items():
        if value is not None:
            raise InputError(f"{name} needs --server")
    from rich.console import Console

    from voxcli.engine.load import ModelOptions, load_engine, random_engine

    patches = patches or PATCHES
    settings = DEFAULTS.updated({"solver": solver, "steps": steps, "cfg": cfg})
    if solver_error:
        _exclude("--solver-error", {"--concurrency": concurrency, "--prompt-tokens": prompt_tokens, "--plot": plot})
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


class ServerLoad(NamedTuple):
    """What a server is measured with: arrivals per second, streams at once, and the duration of each measurement."""

    rates: list[float]
    concurrency: list[int]
    seconds: float


def _bench_server(url: str, load: ServerLoad, as_json: bool, plot: Path | None) -> None:
    from rich.console import Console

    from voxcli.diagnostics.httpstream import Target
    from voxcli.diagnostics.load import measure_load

    target = Target.of(url, os.environ.get(KEY, ""))
    if plot is not None:
        from voxcli.diagnostics.plot import check_plot, write_load_plot

        check_plot(plot)
    report = measure_load(target, *load, on_row=notify)
    if plot is not None:
        write_load_plot(report, plot)
    if as_json:
        print(json.dumps(report.as_dict(), indent=1))
    else:
        Console().print(*report.tables(), sep="\n\n")


def _exclude(option: str, others: dict[str, object]) -> None:
    """Raise InputError if one of the other options is set, which do not go together with `option`."""
    for name, value in others.items():
        if value is not None:
            raise InputError(f"{option} and {name} exclude each other")


def _rates(text: str | None) -> list[float]:
    try:
        rates = [float(part) for part in text.split(",")] if text else []
    except ValueError:
        rates = [0.0]
    if rates and not all(0 < rate <= 10_000 for rate in rates):
        raise InputError(f"--rate must be numbers like 1,2.5,10, not {quoted(text)}")
    return rates


def _counts(text: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise InputError(f"--concurrency must be numbers like 1,4,16, not {quoted(text)}")
    return counts
