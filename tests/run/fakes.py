"""A fake engine without a model: a clip is as long as its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile

import numpy as np
import torch

from voxcli.engine.request import Clip, NotYet, Request

RATE = 16_000
PATCH_S = 0.16
PATCH_SHAPE = (4, 8)


class Letters:
    """A tokenizer with one token per character."""

    def encode(self, text: str) -> list[int]:
        return [ord(char) for char in text]

    def unknown(self, text: str) -> str:
        return ""


@dataclass
class FakeModel:
    tokenizer: Letters = field(default_factory=Letters)
    patch_shape: tuple[int, int] = PATCH_SHAPE
    patch_s: float = PATCH_S
    sample_rate: int = RATE
    encoder_rate: int = RATE
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))


@dataclass
class FakeEngine:
    """Takes `rows` requests at once and finishes the last one first. `fails` names requests that get no audio."""

    rows: int = 4
    fails: dict[str, str] = field(default_factory=dict)
    model: FakeModel = field(default_factory=FakeModel)
    requests: list[Request] = field(default_factory=list)
    encoded: list[tuple[str, str]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    on_patch: Callable[[dict[str, int]], None] | None = None

    def encode_voice(self, samples: np.ndarray, *, key: str, padding: str) -> torch.Tensor:
        self.encoded.append((key, padding))
        return torch.full((2, *PATCH_SHAPE), float(np.abs(samples).max()))

    def cancel(self, request_id: str) -> bool:
        self.cancelled.append(request_id)
        return True

    def generate(self, requests: Iterable[Request | NotYet]) -> Iterator[Clip]:
        source = iter(requests)
        while batch := list(islice(takewhile(lambda request: isinstance(request, Request), source), self.rows)):
            self.requests += batch
            if self.on_patch is not None:
                self.on_patch({request.request_id: 1 for request in batch})
            for request in reversed(batch):
                yield self._clip(request)

    def _clip(self, request: Request) -> Clip:
        seed = request.sampling.seed
        assert seed is not None, "the session must draw the seed, so that the job can be repeated"
        if request.request_id in self.fails:
            return Clip(request.request_id, RATE, "error", seed, error=self.fails[request.request_id])
        patches = min(request.prompt.target_tokens, request.sampling.max_len)
        samples = round(patches * PATCH_S * RATE)
        return Clip(
            request_id=request.request_id,
            sample_rate=RATE,
            stop_reason="length" if patches == request.sampling.max_len else "stop",
            seed=seed,
            patches=patches,
            audio=np.full(samples, 0.1, np.float32),
            latents=torch.full((patches, *PATCH_SHAPE), float(seed % 97)),
        )


def spoken(request: Request) -> str:
    """Return the text of a request to the fake engine."""
    return "".join(map(chr, request.prompt.token_ids[~request.prompt.is_audio].tolist()))
