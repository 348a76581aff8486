"""Plot a benchmark: throughput and time per step by concurrent requests. Needs matplotlib (extra `plot`)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from voxcli.errors import InputError, quoted
from voxcli.extras import install_hint
from voxcli.files.write import check_place, write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from voxcli.diagnostics.bench import BenchReport
    from voxcli.diagnostics.load import LoadReport


def check_plot(path: Path) -> None:
    """Check before the work that a plot can be written to `path`.

    Raises InputError without matplotlib or for an unknown image format, OutputError if the file can't be written.
    """
    try:
        import matplotlib.backends.backend_agg as agg
    except ImportError:
        raise InputError(f"--plot needs matplotlib: {install_hint('plot')}") from None
    kinds = sorted(agg.FigureCanvasAgg.get_supported_filetypes())
    if _kind(path) not in kinds:
        raise InputError(f"--plot writes {', '.join(kinds)}, not {quoted(path.name)}")
    check_place(path)


def write_plot(report: BenchReport, path: Path) -> None:
    """Write the plot atomically. Raises OutputError when that fails."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{report.model}, {report.device}", fontsize=10)
    speed, step = figure.subplots(1, 2)
    requests = [str(row.requests) for row in report.rows]
    speed.plot(requests, [row.throughput for row in report.rows], marker="o", label="measured")
    ceiling = [row.requests * report.patch_s / (row.floor_ms / 1000) for row in report.rows]
    speed.plot(requests, ceiling, linestyle="--", color="gray", label="roofline")
    speed.set(xlabel="concurrent requests", ylabel="seconds of audio per second", yscale="log", title="throughput")
    speed.legend()
    base = [0.0] * len(requests)
    for name in report.rows[0].parts_ms:
        height = [row.parts_ms[name] for row in report.rows]
        step.bar(requests, height, bottom=base, label=name)
        base = [low + high for low, high in zip(base, height, strict=True)]
    step.set(xlabel="concurrent requests", ylabel="ms", title="time per step")
    step.legend()
    _save(figure, path)


def write_load_plot(report: LoadReport, path: Path) -> None:
    """Write the plot of a server's measurements atomically. Raises OutputError when that fails."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{report.model}, {report.seconds:g} s each", fontsize=10)
    first, speed = figure.subplots(1, 2)
    loads = [f"{row.rate:g}/s" if row.rate is not None else f"{row.concurrency}" for row in report.rows]
    for label, values in (
        ("p50", [row.first_ms_p50 for row in report.rows]),
        ("p95", [row.first_ms_p95 for row in report.rows]),
        ("p99", [row.first_ms_p99 for row in report.rows]),
    ):
        first.plot(loads, values, marker="o", label=label)
    first.set(xlabel="arrivals, or streams at once", ylabel="ms", yscale="log", title="first audio")
    first.legend()
    speed.plot(loads, [row.throughput for row in report.rows], marker="o")
    speed.set(xlabel="arrivals, or streams at once", ylabel="seconds of audio per second", title="throughput")
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=_kind(path))
    write_atomic(path, picture.getvalue())


def _kind(path: Path) -> str:
    return path.suffix.lstrip(".").lower()
