"""The input and output of the engine: `Request` and `Clip`.

They contain no files and no text: the prompt of a request consists of token ids and audio patches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np
import torch

from voxcli.errors import RequestError, quoted
from voxcli.model.prompt import Prompt
from voxcli.model.solver import SOLVERS

# The engine never sets "silence": the caller does, for a clip that continued without sound after its text.
StopReason = Literal["stop", "silence", "length", "cancelled", "error"]


class NotYet(Enum):
    """Takes the place of a request that an iterable does not have now, but may have after the next step."""

    NOT_YET = "not yet"


NOT_YET = NotYet.NOT_YET


@dataclass(frozen=True)
class Sampling:
    """How one request is generated. Defaults are those of the reference package. Raises RequestError if invalid.

    seed:       of the request's noise; None: a random seed, which the clip reports.
    cfg:        classifier-free guidance scale.
    solver:     of the CFM, one of SOLVERS.
    steps:      of the solver, at least 2, because the first has zero velocity.
    min_len:    the stop flag is ignored up to patch index min_len, counted from 0.
    max_len:    maximum number of patches.
    ratio:      a clip with at least ratio * target tokens patches is a bad case. Generation ends at
                ratio * target tokens + 10 patches.
    short_len:  a clip that the stop flag ends with fewer patches is a bad case, too: it can't contain all of its text.
    attempts:   maximum number of runs. While the clip is a bad case, it is generated again with the next seed.
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
            raise RequestError(
                f"steps must be at least 2 (the first step of the solver has zero velocity), not {self.steps}"
            )
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
    """A prompt to generate a clip for.

    request_id: not empty, and unique among the requests in the engine.
    decode:     False: the clip has latents but no audio.
    on_audio:   receives the audio while it is generated, in blocks of float32[samples], at first one a patch. Audio
                that was played can't be taken back, so there is a single attempt. The clip, without audio, follows the
                last block.
    """

    request_id: str
    prompt: Prompt
    sampling: Sampling = Sampling()
    decode: bool = True
    on_audio: Callable[[np.ndarray], None] | None = None

    def __post_init__(self) -> None:
        if not self.request_id:
            raise RequestError("request_id must not be empty")


@dataclass
class Timings:
    """Seconds from admission to the first patch, from admission to the last patch, and for the audio decode."""

    first_patch_s: float = 0.0
    generate_s: float = 0.0
    decode_s: float = 0.0


@dataclass(eq=False)
class Clip:
    """The result of a request.

    sample_rate: in Hz.
    audio:       float32[samples]; None after an error, if cancelled, or if the request has decode=False.
    latents:     float32[patches, patch_size, feat_dim] on the CPU. Another request can use them as its voice.
    seed:        of the request, or the random one. The same seed gives the same clip.
    attempts:    number of runs. The last one was kept; its seed is seed + attempts - 1.
    bad_case:    after the last attempt the clip is still far too long or too short for its text.
    too_short:   it is too short.
    exact:       the same request gives the same bits on this machine, alone and in any batch. False after a preemption,
                 because the clip then continues from a recomputed state.
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
