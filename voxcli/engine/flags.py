"""Flags of a queued step, read one step late: the next step is queued before the CPU waits for this one."""

from __future__ import annotations

from dataclasses import dataclass

from voxcli.engine.sequence import Sequence
from voxcli.engine.transfer import Download


@dataclass(frozen=True, eq=False)
class StepFlags:
    """Flags of one queued step (or prefill): for each sequence its attempt and the patch they refer to."""

    values: Download
    about: list[tuple[Sequence, int, int]]
