"""How fast a folder's results came: what tells, before a model is loaded, about how long the rest will take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from voxcli.jobs.result import Result

LONGEST_GAP_S = 120.0  # more from a file to the next start was no work but the time between two runs
FEWEST = 2  # lines that tell what neighbours do to each other


def pace(results: Iterable[Result]) -> float | None:
    """Seconds of audio made in a second, beside all neighbours; None when too little has been made to tell.

    Files land in bursts: a run lasts from the start of its first line in the engine to the last file.
    """
    worked = sorted(
        (end - result.wall_s, end, result.duration_s or 0.0)
        for result in results
        if result.ok and result.finished and result.wall_s is not None
        for end in (datetime.fromisoformat(result.finished).timestamp(),)
    )
    wall, until = 0.0, -math.inf
    for start, end, _ in worked:
        begin = start if start - until > LONGEST_GAP_S else until
        wall += max(0.0, end - begin)
        until = max(until, end)
    return sum(made for *_, made in worked) / wall if len(worked) >= FEWEST and wall > 0 else None
