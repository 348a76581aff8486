"""Capture the CUDA graphs that requests will need before the first one comes: a capture holds up all streams."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from voxcli.engine.engine import Engine
from voxcli.engine.graphs import BUCKETS
from voxcli.engine.prefill import TOKENS
from voxcli.engine.request import Request, Sampling
from voxcli.jobs.settings import Settings
from voxcli.model.prompt import Prompt, build_prompt

PROMPT = 60  # positions of a prompt: a sentence or two
SMALLEST = 64  # positions of the smallest prefill
FEW, LONG = 4, 24  # requests, and patches of each


def warm_up(engine: Engine, settings: Settings) -> None:
    """Run requests in every number that steps and prefills are captured for. Takes seconds, on CUDA only.

    settings: of requests that set no solver and no steps.
    """
    if engine.runner.graphs is None:
        return
    usual = Sampling(seed=0, solver=settings.solver, steps=settings.steps, attempts=1)
    largest = engine.scheduler.max_running
    counts = {*(max(1, tokens // SMALLEST) for tokens in TOKENS), *BUCKETS, largest}
    for count in sorted(count for count in counts if count <= largest):
        for _ in range(2):  # a prefill is captured when its size occurs for the second time
            _run(engine, count, replace(usual, min_len=0, max_len=2))
    _run(engine, min(largest, FEW), replace(usual, min_len=LONG - 2, max_len=LONG))  # pieces of audio of every size


def _run(engine: Engine, count: int, sampling: Sampling) -> None:
    prompt = _prompt(engine)
    for _ in engine.generate(
        Request(f"warm-up-{number}", prompt, sampling, on_audio=_unheard) for number in range(count)
    ):
        pass


def _unheard(samples: object) -> None:
    pass


def _prompt(engine: Engine) -> Prompt:
    """A prompt of PROMPT positions."""
    prompt = build_prompt(engine.model.tokenizer, "Hello there.", patch_shape=engine.model.patch_shape)
    text = prompt.token_ids[:-1].repeat(math.ceil(PROMPT / (len(prompt) - 1)))[: PROMPT - 1]
    return replace(
        prompt,
        token_ids=torch.cat((text, prompt.token_ids[-1:])),
        is_audio=torch.zeros(PROMPT, dtype=torch.bool),
        target_tokens=PROMPT - 1,
    )
