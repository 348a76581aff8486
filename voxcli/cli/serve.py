"""`voxcpm2 serve`: speak for programs, through OpenAI's speech API."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from voxcli.cli.flatten import flatten, option
from voxcli.cli.help import MODEL, SERVE, WORKERS, Command, examples
from voxcli.cli.options import KEY, BatchModelOptions, Debug, notify
from voxcli.cli.setting_options import Preset
from voxcli.cli.values import number
from voxcli.cluster.options import cluster_options
from voxcli.errors import InputError, MissingExtra
from voxcli.extras import install_hint, missing

EXAMPLES = examples(
    "voxcpm2 serve",
    "voxcpm2 serve --host 0.0.0.0 --port 80 --api-key SECRET",
)


def register(app: typer.Typer) -> None:
    app.command(cls=Command, epilog=EXAMPLES)(flatten(serve))


def serve(
    engine: BatchModelOptions,
    host: Annotated[
        str, option(SERVE, "--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 means all addresses.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        option(SERVE, "--port", metavar="N", parser=number("--port", int, 0, 65535), help="Port; 0 for any free one."),
    ] = 8000,
    api_key: Annotated[
        str | None,
        option(
            SERVE,
            "--api-key",
            metavar="KEY",
            show_default=f"${KEY}, else none",
            help="Key that clients must send.",
        ),
    ] = None,
    max_queue: Annotated[
        int,
        option(
            SERVE,
            "--max-queue",
            metavar="N",
            parser=number("--max-queue", int, 0, 100_000),
            help="Maximum number of waiting requests; further ones are refused.",
        ),
    ] = 256,
    workers: Annotated[
        str | None,
        option(
            WORKERS,
            "--workers",
            metavar="N|auto",
            help="Number of engines, each with a GPU or a share of the cores (needs the extra `ray`).",
        ),
    ] = None,
    preset: Preset = None,
    random_weights: Annotated[
        str | None,
        option(MODEL, "--random-weights", metavar="voxcpm2", help="Serve noise from random weights, to measure."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Serve OpenAI's speech API, and a page to try it, until Ctrl-C.

    Requests share the engine. Ctrl-C or SIGTERM ends the server after the requests it has accepted.
    """
    if packages := missing("serve"):
        raise MissingExtra(f"serve needs {', '.join(packages)}: {install_hint('serve')}")
    if random_weights is not None and engine.model is not None:
        raise InputError("--random-weights and --model exclude each other")
    from voxcli.jobs.settings import DEFAULTS
    from voxcli.server.serve import ServeOptions
    from voxcli.server.serve import serve as run

    settings = DEFAULTS
    if preset is not None:
        from voxcli.inputs.presets import load_preset

        settings = DEFAULTS.updated(load_preset(preset))
    key = api_key if api_key is not None else os.environ.get(KEY)
    options = engine.model_options(preset)
    cluster = cluster_options(workers, None)
    count = None if cluster is None else cluster.count or 0
    run(ServeOptions(options, settings, host, port, key, max_queue, random_weights, count), notify)
