"""How fast a folder's results came: what tells, before a model is loaded, about how long the rest will take."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import pairwise

from voxcli.run.results import Result

LONGEST_GAP_S = 120.0  # more between two files was no work but the time between two runs


def now() -> str:
    """The time as results tell it: ISO 8601, UTC, in milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def pace(results: Iterable[Result]) -> float | None:
    """Seconds of audio made in a second, beside all neighbours; None when too little has been made to tell."""
    landed = sorted(
        (datetime.fromisoformat(result.finished).timestamp(), result.duration_s or 0.0)
        for result in results
        if result.ok and result.finished
    )
    gaps = [(later - earlier, made) for (earlier, _), (later, made) in pairwise(landed)]
    counted = [(gap, made) for gap, made in gaps if gap <= LONGEST_GAP_S]
    wall = sum(gap for gap, _ in counted)
    return sum(made for _, made in counted) / wall if wall > 0 else None
