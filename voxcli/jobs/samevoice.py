"""Whether lines without a voice share one, as a command asks for it. `voxcli.jobs.sharedvoices` does it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SameVoice:
    """What a command asks for.

    wanted: None: decide by the output folder, and by `joined`.
    joined: the files are joined into one.
    seed:   of the line whose voice is used.
    """

    wanted: bool | None = None
    joined: bool = False
    seed: int | None = None


NO_WISH = SameVoice()
