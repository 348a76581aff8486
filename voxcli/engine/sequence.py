"""A request on its way through the engine. Knows counts and pages, no tensors of the device."""

from __future__ import annotations

import time

import torch

from voxcli.engine.noise import NoiseSource
from voxcli.engine.prefill import Chunk
from voxcli.engine.request import Request, Timings
from voxcli.model.solver import Solver


class Sequence:
    def __init__(self, request: Request, order: int, limit: int, seed: int):
        """limit: most patches of one attempt."""
        self.request = request
        self.solver = Solver(request.sampling.solver, request.sampling.steps)
        self.order = order
        self.limit = limit
        self.seed = seed
        self.attempt = 1
        self.admitted_at: float | None = None
        self.timings = Timings()
        self.patch_shape = tuple(request.prompt.patches.shape[1:])
        self._positions = len(request.prompt)  # asked for many times a step, and a tensor is slow to say
        self._reset()

    def _reset(self) -> None:
        self.row = 0
        self.pages: list[int] = []
        self.prefilled = 0
        self.patches = 0
        self.stop_at: int | None = None  # index of the patch that the stop head named as the last
        self.kept = torch.empty(0, *self.patch_shape)  # patches from before a preemption
        self.kept_patches = 0
        self.noise = NoiseSource(self.seed + self.attempt - 1, self.patch_shape)  # type: ignore[arg-type]

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def prompt_length(self) -> int:
        """Positions to prefill: the prompt and, after a preemption, the patches made so far."""
        return self._positions + self.kept_patches

    @property
    def length(self) -> int:
        """Positions in use once everything queued so far has run."""
        return self._positions + self.patches

    @property
    def ready(self) -> bool:
        """Prefilled and not at its end: takes part in the next step."""
        return self.prefilled == self.prompt_length and not self.finished

    @property
    def finished(self) -> bool:
        """The last patch has been queued."""
        return self.patches >= self.limit or (self.stop_at is not None and self.patches > self.stop_at)

    @property
    def bad_case(self) -> bool:
        """As long as speech of this text can't be, as which the reference runs a clip again, or as short."""
        return self.patches >= self.request.prompt.target_tokens * self.request.sampling.ratio or self.too_short

    @property
    def too_short(self) -> bool:
        """Ended by itself, and not by a limit, before speech of this text can."""
        ended = self.stop_at is not None and self.patches > self.stop_at
        return ended and self.patches < self.request.sampling.short_len

    def first_patch_is_there(self) -> None:
        if self.admitted_at is not None:
            self.timings.first_patch_s = time.perf_counter() - self.admitted_at

    def flag_stop(self, patch: int) -> None:
        """The stop head names patch number `patch` as the last; obeyed only after min_len."""
        if self.stop_at is None and patch > self.request.sampling.min_len:
            self.stop_at = patch

    def preempt(self, made: torch.Tensor) -> None:
        """Give up row and pages. made: all patches so far, on the CPU; they come back as part of the prompt."""
        self.kept, self.kept_patches = made, len(made)
        self.row, self.pages, self.prefilled = 0, [], 0

    def retry(self) -> None:
        """Start again with the next seed."""
        self.attempt += 1
        self._reset()

    def chunk(self, budget: int) -> Chunk:
        """The next at most `budget` positions to prefill."""
        prompt, start = self.request.prompt, self.prefilled
        end = min(start + budget, self.prompt_length)
        kept = len(self.kept)
        token_ids = torch.cat((prompt.token_ids, torch.zeros(kept, dtype=torch.int64)))
        is_audio = torch.cat((prompt.is_audio, torch.ones(kept, dtype=torch.bool)))
        first = int(is_audio[:start].sum())
        count = int(is_audio[start:end].sum())
        return Chunk(
            row=self.row,
            start=start,
            token_ids=token_ids[start:end],
            is_audio=is_audio[start:end],
            patches=torch.cat((prompt.patches, self.kept))[first : first + count],
            last=end == self.prompt_length,
        )

    def condition(self) -> torch.Tensor:
        """The patch before the next one: the last kept, the last of the prompt in continuation, else zeros."""
        if len(self.kept):
            return self.kept[-1]
        prompt = self.request.prompt
        return prompt.patches[-1] if prompt.continues else torch.zeros(*self.patch_shape)
