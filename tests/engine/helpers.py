"""Helpers that create requests for a tiny model and compare clips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.model.prompt import build_prompt
from voxcli.model.solver import SOLVERS
from voxcli.model.voxcpm2 import VoxCPM2

TEXTS = ("hello world", "abc", "a longer line of text", "你好世界", "xyz!", "one two three four", "hi", "大学生 hello")


def latents(model: VoxCPM2, patches: int, seed: int) -> torch.Tensor:
    """Return random latents in place of an encoded voice."""
    return torch.randn(patches, *model.patch_shape, generator=torch.Generator().manual_seed(seed))


def request(
    model: VoxCPM2, request_id: str, text: str, *, layout: str = "zero-shot", voice: int = 0, **sampling: Any
) -> Request:
    """Return a request in one of the four layouts. voice: the seed of its reference and prompt audio."""
    parts: dict[str, Any] = {}
    if layout in ("reference", "both"):
        parts["reference"] = latents(model, 3 + voice % 4, 100 + voice)
    if layout in ("continuation", "both"):
        parts["prompt_audio"] = latents(model, 2 + voice % 5, 200 + voice)
        parts["prompt_text"] = "so it goes "
    prompt = build_prompt(model.tokenizer, text, patch_shape=model.patch_shape, **parts)
    return Request(request_id, prompt, Sampling(**sampling))


LAYOUTS = ("zero-shot", "reference", "continuation", "both")


def mixed(model: VoxCPM2, count: int) -> list[Request]:
    """Return requests that differ in layout, length, voice, seed, cfg, solver and steps."""
    return [
        request(
            model,
            f"r{i}",
            TEXTS[i % len(TEXTS)],
            layout=LAYOUTS[i % 4],
            voice=i,
            seed=i,
            cfg=(2.0, 1.0, 3.5)[i % 3],
            solver=SOLVERS[i // 3 % 2],
            steps=(4, 2, 3)[i // 2 % 3],
            max_len=30,
        )
        for i in range(count)
    ]


def run(engine: Engine, requests: Iterable[Request]) -> dict[str, Clip]:
    """Run requests and check that the engine has freed all rows and pages."""
    clips = {clip.request_id: clip for clip in engine.generate(requests)}
    engine.check_integrity()
    assert not engine.scheduler.running and engine.state.free == len(engine.state.cfg) - 1
    assert engine.scheduler.pool.free == engine.scheduler.pool.total
    return clips


def alone(model: VoxCPM2, requests: Sequence[Request], **config: Any) -> dict[str, Clip]:
    """Run each request in an engine of its own."""
    from voxcli.engine.config import EngineConfig

    return {r.request_id: run(Engine(model, EngineConfig(max_batch=1, **config)), [r])[r.request_id] for r in requests}


def assert_same(one: Clip, other: Clip, tolerance: float = 1e-4) -> None:
    assert one.error is None and other.error is None, (one.error, other.error)
    assert (one.patches, one.stop_reason, one.seed, one.attempts) == (
        other.patches,
        other.stop_reason,
        other.seed,
        other.attempts,
    )
    assert one.latents is not None and other.latents is not None
    torch.testing.assert_close(one.latents, other.latents, atol=tolerance, rtol=0)
    torch.testing.assert_close(torch.tensor(one.audio), torch.tensor(other.audio), atol=10 * tolerance, rtol=0)
