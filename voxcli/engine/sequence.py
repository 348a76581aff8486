"""The state of a request in the engine: counts, pages and tensors on the CPU. It has no tensors on the device."""

from __future__ import annotations

import time

import torch

from voxcli.engine.noise import NoiseSource
from voxcli.engine.prefill import Chunk
from voxcli.engine.request import Request, Timings
from voxcli.model.solver import Solver


class Sequence:
    def __init__(self, request: Request, order: int, limit: int, seed: int):
        """Create a waiting sequence.

        order: of arrival; the highest is preempted first.
        limit: maximum number of patches of one attempt.
        seed:  of the first attempt.
        """
        self.request = request
        self.solver = Solver(request.sampling.solver, request.sampling.steps)
        self.order = order
        self.limit = limit
        self.seed = seed
        self.attempt = 1
        self.admitted_at: float | None = None
        self.timings = Timings()
        self.patch_shape = tuple(request.prompt.patches.shape[1:])
        self._positions = len(request.prompt)  # read many times per step, and len() of a tensor is slow
        self._reset()

    def _reset(self) -> None:
        self.row = 0
        self.pages: list[int] = []
        self.prefilled = 0
        self.patches = 0
        self.stop_at: int | None = None  # index of the last patch, according to the stop head
        self.kept = torch.empty(0, *self.patch_shape)  # patches from before a preemption
        self.kept_patches = 0
        self.noise = NoiseSource(self.seed + self.attempt - 1, self.patch_shape)  # type: ignore[arg-type]

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def prompt_length(self) -> int:
        """Number of positions to prefill: the prompt and, after a preemption, the patches generated before it."""
        return self._positions + self.kept_patches

    @property
    def length(self) -> int:
        """Number of positions in use after all queued steps have run."""
        return self._positions + self.patches

    @property
    def ready(self) -> bool:
        """Whether the sequence takes part in the next step: it is prefilled and not finished."""
        return self.prefilled == self.prompt_length and not self.finished

    @property
    def finished(self) -> bool:
        """Whether the last patch has been queued."""
        return self.patches >= self.limit or (self.stop_at is not None and self.patches > self.stop_at)

    @property
    def bad_case(self) -> bool:
        """Whether the clip is too long or too short for its text, so that it is generated again.

        The limit for long clips is that of the reference package.
        """
        return self.patches >= self.request.prompt.target_tokens * self.request.sampling.ratio or self.too_short

    @property
    def too_short(self) -> bool:
        """Whether the stop flag, not a limit, ended the clip with fewer than `short_len` patches."""
        ended = self.stop_at is not None and self.patches > self.stop_at
        return ended and self.patches < self.request.sampling.short_len

    def record_first_patch(self) -> None:
        """Record the time from admission to the first patch."""
        if self.admitted_at is not None:
            self.timings.first_patch_s = time.perf_counter() - self.admitted_at

    def flag_stop(self, patch: int) -> None:
        """Make `patch` the index of the last patch. Ignored up to min_len and after the first call with an effect."""
        if self.stop_at is None and patch > self.request.sampling.min_len:
            self.stop_at = patch

    def preempt(self, patches: torch.Tensor) -> None:
        """Return to waiting. patches: all patches so far, on the CPU; they are prefilled together with the prompt."""
        self.kept, self.kept_patches = patches, len(patches)
        self.row, self.pages, self.prefilled = 0, [], 0

    def retry(self) -> None:
        """Return to waiting for another attempt, with the next seed."""
        self.attempt += 1
        self._reset()

    def chunk(self, budget: int) -> Chunk:
        """Return the next positions to prefill, at most `budget`."""
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
        """Return the patch before the next one, float32[patch_size, feat_dim].

        The last kept patch, else the last patch of the prompt if the clip continues it, else zeros.
        """
        if len(self.kept):
            return self.kept[-1]
        prompt = self.request.prompt
        return prompt.patches[-1] if prompt.continues else torch.zeros(*self.patch_shape)
