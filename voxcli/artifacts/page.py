"""The report of a batch: a self-contained HTML page that lists failures first.

Each line has a player, a waveform and its figures. All text is escaped, so that it can't become markup or a script.
"""

from __future__ import annotations

import base64
import hashlib
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from voxcli.audio.peaks import peaks
from voxcli.errors import AudioError
from voxcli.files.write import write_atomic
from voxcli.jobs.job import Job
from voxcli.jobs.result import Result
from voxcli.terminal import counted, format_duration

BARS = 96
HEIGHT = 32
MAX_EXTRA = 12  # names
LONG = 280  # characters of a text shown while it is folded


@dataclass(frozen=True)
class Column:
    """A column. title: its heading.  name: CSS class of its cells.  numeric: sorts as numbers, largest first."""

    title: str
    name: str
    numeric: bool = False


COLUMNS = (
    Column("Line", "line", True),
    Column("Text", "text"),
    Column("Sound", "sound"),
    Column("Duration", "duration", True),
    Column("RTF", "rtf", True),
    Column("Seed", "seed", True),
    Column("Stop", "stop"),
    Column("Remarks", "remarks", True),
)


def write_page(path: Path, title: str, lines: Sequence[tuple[Job, Result]]) -> None:
    """Write the page for `lines`, given in manifest order. Raises OutputError when it can't be written."""
    write_atomic(path, render(title, lines, path.parent).encode("utf-8", "replace"))


def render(title: str, lines: Sequence[tuple[Job, Result]], folder: Path) -> str:
    """Return the page as HTML. Links to files are relative to `folder`."""
    places = sorted(range(len(lines)), key=lambda place: (_urgency(lines[place][1]), place))
    template = resources.files("voxcli.artifacts").joinpath("page.html").read_text(encoding="utf-8")
    script = template.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(template).substitute(
        title=escape(title),
        script_digest=digest,
        tiles="".join(_tile(*tile) for tile in _tiles([result for _, result in lines])),
        heads="".join(_head(column) for column in COLUMNS),
        rows="\n".join(_row(place + 1, *lines[place], folder) for place in places),
    )


def _urgency(result: Result) -> int:
    """Return the sort key of a result: failures, then results with remarks, then the rest."""
    return 0 if result.failed else 1 if _remarks(result) else 2


def _remarks(result: Result) -> list[str]:
    remarks = [result.error] if result.error else []
    if result.attempts is not None and result.attempts > 1:
        remarks.append(counted(result.attempts, "attempt"))
    return [*remarks, *result.warnings]


def _tiles(results: Sequence[Result]) -> list[tuple[str, str, str]]:
    """Return label, value and CSS class of the figures at the top."""
    failed = sum(result.failed for result in results)
    remarked = sum(result.ok and bool(_remarks(result)) for result in results)
    seconds = sum(result.duration_s or 0.0 for result in results if result.ok)
    rtfs = [result.rtf for result in results if result.rtf is not None]
    return [
        ("lines", f"{len(results):,}", ""),
        ("failed", f"{failed:,}", "bad" if failed else "good"),
        ("with remarks", f"{remarked:,}", "warn" if remarked else ""),
        ("of audio", format_duration(seconds), ""),
        ("median RTF of a line", f"{statistics.median(rtfs):.3f}" if rtfs else "none", ""),
    ]


def _tile(label: str, value: str, kind: str) -> str:
    return f'<div class="tile {kind}"><b>{escape(value)}</b><span>{label}</span></div>'


def _head(column: Column) -> str:
    kind = ' data-numeric=""' if column.numeric else ""
    return f'<th class="{column.name}" scope="col"{kind}><button type="button">{column.title}</button></th>'


def _row(number: int, job: Job, result: Result, folder: Path) -> str:
    link = _link(job.out, folder)
    remarks = _remarks(result)
    duration, rtf = result.duration_s, result.rtf
    cells = (
        (number, f"<b>{number}</b><span dir=auto>{escape(result.id)}</span>"),
        (result.text, _text(result.text) + _extra(job.extra)),
        (result.out, _sound(job.out, link, result) if result.ok else '<span class="none">no file</span>'),
        (duration, "" if duration is None else format_duration(duration)),
        (rtf, "" if rtf is None else f"{rtf:.3f}"),
        (result.seed, "" if result.seed is None else str(result.seed)),
        (result.stop_reason, escape(result.stop_reason or result.status)),
        (len(remarks), "".join(f"<p dir=auto>{escape(remark)}</p>" for remark in remarks)),
    )
    kind = ("failed", "remarked", "fine")[_urgency(result)]
    return f'<tr class="{kind}">' + "".join(
        f'<td class="{column.name}" data-value="{"" if value is None else escape(str(value)[:200])}">{cell}</td>'
        for column, (value, cell) in zip(COLUMNS, cells, strict=True)
    )


def _text(text: str) -> str:
    if len(text) <= LONG:
        return f"<p dir=auto>{escape(text)}</p>"
    return f"<details><summary dir=auto>{escape(text[:LONG])} ...</summary><p dir=auto>{escape(text)}</p></details>"


def _extra(extra: Mapping[str, Any]) -> str:
    """Return the extra fields of a line, shortened."""
    pairs = (f"{name}: {value}" for name, value in islice(extra.items(), MAX_EXTRA))
    return "".join(f'<p class="extra" dir=auto>{escape(words[:LONG])}</p>' for words in pairs)


def _sound(path: Path, link: str, result: Result) -> str:
    """Return a play button, the waveform, and a link to the file."""
    try:
        picture = _picture(peaks(path, BARS))
    except AudioError:
        return '<span class="none">the file is missing or damaged</span>'
    name = escape(result.out)
    return (
        f'<div class="player" data-src="{link}" data-seconds="{result.duration_s or 0}">'
        f'<button type="button" class="play" aria-label="Play {escape(result.id)}"></button>{picture}</div>'
        f'<a href="{link}" dir=auto>{name}</a><output></output>'
    )


def _picture(heights: Sequence[float]) -> str:
    """Draw the waveform as bars. Quiet parts are enlarged, because loudness is not linear in amplitude."""
    middle = HEIGHT / 2
    bars = []
    for place, height in enumerate(heights):
        half = max(0.5, min(1.0, height) ** 0.6 * (middle - 1))
        bars.append(f"M{place + 0.5:g} {middle - half:.1f}V{middle + half:.1f}")
    return (
        f'<svg viewBox="0 0 {max(1, len(heights))} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{"".join(bars)}"/></svg>'
    )


def _link(path: Path, folder: Path) -> str:
    try:
        return quote(Path(os.path.relpath(path, folder)).as_posix())
    except ValueError:  # another drive
        return path.absolute().as_uri()
