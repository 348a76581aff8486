"""Flags of a queued step. They are read one step late, so that the next step is queued before the CPU waits."""

from __future__ import annotations

from dataclasses import dataclass

from voxcli.engine.sequence import Sequence
from voxcli.engine.transfer import Download


@dataclass(frozen=True, eq=False)
class StepFlags:
    """The flags of one queued step or prefill.

    values: uint8[n], the flags of each sequence; see `voxcli.engine.state`.
    about:  for each of the n sequences its attempt and its number of patches after the step, which is the index of the
            patch that STOP refers to.
    """

    values: Download
    about: list[tuple[Sequence, int, int]]
