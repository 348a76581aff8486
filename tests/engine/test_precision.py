"""bfloat16 against float32 with teacher forcing: each patch has the same history, so that only rounding differs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.engine.helpers import LAYOUTS, request, run
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model


@contextmanager
def forced(model: VoxCPM2, teacher: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Replace each patch of the model with the teacher's. Yields a list that collects the model's own patches."""
    made: list[torch.Tensor] = []
    real = model.next_patch

    def next_patch(mu: torch.Tensor, *rest: Any) -> torch.Tensor:
        made.append(real(mu, *rest).cpu())
        return teacher[len(made) - 1].to(mu.device)

    model.next_patch = next_patch  # type: ignore[method-assign]
    yield made
    del model.next_patch


# A CPU computes bfloat16 slowly, so it has fewer patches and requests.
CASES = [("cpu", LAYOUTS[:1], 6), pytest.param("cuda", LAYOUTS, 20, marks=pytest.mark.gpu)]


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("device", "layouts", "patches"), CASES, ids=["cpu", "cuda"])
def test_bfloat16_stays_within_rounding(
    demo_voice: Path, device: str, layouts: tuple[str, ...], patches: int, alone: bool
) -> None:
    """Both in a batch and alone, so the two differ by rounding only."""
    if alone and len(layouts) == 1:
        pytest.skip("with one request both cases are the same")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA GPU")
    exact = load_model(demo_voice, device="cpu", dtype="float32")
    rounded = load_model(demo_voice, device=device, dtype="bfloat16")
    requests = [
        request(exact, f"{i}", "hello world", layout=layout, seed=i, voice=i, min_len=patches - 1, max_len=patches)
        for i, layout in enumerate(layouts)
    ]
    clips = run(Engine(exact), requests)
    # Rows keep the order of admission, because no request finishes before the last step.
    order = sorted(clips, key=lambda name: -requests[int(name)].prompt.target_tokens)
    engine = Engine(rounded, EngineConfig(graphs=False, pad_to_bucket=False))
    batches = [[int(name)] for name in order] if alone else [[int(name) for name in order]]
    error = energy = 0.0
    for batch in batches:
        exact_patches = torch.stack(
            [torch.stack([clips[f"{i}"].latents[step] for i in batch]) for step in range(patches)]
        )  # type: ignore[index]
        with forced(rounded, list(exact_patches)) as made:
            run(engine, [requests[i] for i in batch])
        error += float((torch.stack(made[:patches]) - exact_patches).square().sum())
        energy += float(exact_patches.square().sum())
    assert math.sqrt(error / energy) < 2e-2
