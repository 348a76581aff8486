"""The engine's nouns: what it runs (`Request`) and what comes out (`Clip`).

They know no files, no manifests and no text: a request is token ids and audio patches already laid out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np
import torch

from voxcli.errors import RequestError, quoted
from voxcli.model.prompt import Prompt
from voxcli.model.solver import SOLVERS

# "silence" is said of a clip by whoever finds that it ran on without a sound: the engine does not listen.
StopReason = Literal["stop", "silence", "length", "cancelled", "error"]


class NotYet(Enum):
    """Stands for a request that a source can't give now, and may give after the next step."""

    NOT_YET = "not yet"


NOT_YET = NotYet.NOT_YET


@dataclass(frozen=True)
class Sampling:
    """How one request is generated. Defaults are those of the reference package.

    seed:       of the request's own noise; None draws one, and the clip tells which.
    cfg:        classifier-free guidance scale.
    solver:     of the CFM, one of SOLVERS.
    steps:      of the solver (the first has zero velocity, so at least 2).
    min_len:    the stop flag is obeyed only at step i > min_len, i counting from 0.
    max_len:    most patches, whatever the text.
    ratio:      a clip of at least ratio x target tokens patches is a bad case; generation ends ratio x tokens + 10.
    short_len:  a clip that ends by itself with fewer patches is a bad case too: it has not said its text.
    attempts:   runs in all, each with seed + 1, while the clip is a bad case.
    """

    seed: int | None = None
    cfg: float = 2.0
    solver: str = "euler"
    steps: int = 10
    min_len: int = 2
    max_len: int = 2000
    ratio: float = 6.0
    short_len: int = 0
    attempts: int = 3

    def __post_init__(self) -> None:
        for name in ("seed", "steps", "min_len", "max_len", "short_len", "attempts"):
            value = getattr(self, name)
            if not (isinstance(value, int) or (name == "seed" and value is None)):
                raise RequestError(f"{name} must be a whole number, not {quoted(value)}")
        if self.solver not in SOLVERS:
            raise RequestError(f"solver must be one of {', '.join(SOLVERS)}, not {quoted(self.solver)}")
        if not math.isfinite(self.cfg) or self.cfg < 0:
            raise RequestError(f"cfg must be a number of at least 0, not {self.cfg}")
        if self.steps < 2:
            raise RequestError(f"steps must be at least 2 (the first step of the solver is empty), not {self.steps}")
        if self.min_len < 0:
            raise RequestError(f"min_len must be at least 0, not {self.min_len}")
        if self.max_len <= self.min_len:
            raise RequestError(f"max_len ({self.max_len}) must be greater than min_len ({self.min_len})")
        if not math.isfinite(self.ratio) or self.ratio <= 0:
            raise RequestError(f"ratio must be a number above 0, not {self.ratio}")
        if self.attempts < 1:
            raise RequestError(f"attempts must be at least 1, not {self.attempts}")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise RequestError(f"seed must be a whole number from 0 to 2^63 - 1, not {self.seed}")


@dataclass(frozen=True, eq=False)
class Request:
    """One utterance for the engine. `request_id` is unique among those in flight and not empty.

    decode: False when only the latents are wanted: the clip then has no audio.
    """

    request_id: str
    prompt: Prompt
    sampling: Sampling = Sampling()
    decode: bool = True

    def __post_init__(self) -> None:
        if not self.request_id:
            raise RequestError("request_id must not be empty")


@dataclass
class Timings:
    """Seconds: from admission to the first patch, from admission to the last, audio decode."""

    first_patch_s: float = 0.0
    generate_s: float = 0.0
    decode_s: float = 0.0


@dataclass(eq=False)
class Clip:
    """What a request became.

    audio:    float32[samples] at `sample_rate`; None with an error, when cancelled and when not asked for.
    latents:  float32[patches, patch_size, feat_dim] on the CPU: what a later request can take as its voice.
    seed:     of the request, drawn if it had none: the same seed gives the same clip again.
    attempts: runs in all; the last one was kept, and its own seed is seed + attempts - 1.
    bad_case: still far too long for its text, or too short for it, after the last attempt.
    too_short: it is the latter.
    exact:    the same request gives the same bits on this machine, alone and beside any others. False for one that had
              to give way while memory was short: it went on from a state that was computed again.
    """

    request_id: str
    sample_rate: int
    stop_reason: StopReason
    seed: int
    attempts: int = 1
    patches: int = 0
    bad_case: bool = False
    too_short: bool = False
    exact: bool = False
    audio: np.ndarray | None = None
    latents: torch.Tensor | None = None
    error: str | None = None
    timings: Timings = field(default_factory=Timings)

    @property
    def duration_s(self) -> float:
        return 0.0 if self.audio is None else len(self.audio) / self.sample_rate
