"""The measure of solvers, on the tiny checkpoint and against sums made by hand."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from voxcli.diagnostics.solver_error import collect_states, midpoint, midpoint_moves, relative_error
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Request, Sampling
from voxcli.model.locdit import Schedule
from voxcli.model.prompt import build_prompt
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model

TEXTS = ("hello world", "abc")


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Path) -> VoxCPM2:
    return load_model(tiny_checkpoint, device="cpu")


def test_the_error_by_hand() -> None:
    """Differences 3 and 4, so 5; the exact one has the norm 10."""
    exact = torch.tensor([[6.0, 8.0]])
    assert relative_error(exact + torch.tensor([[3.0, -4.0]]), exact) == pytest.approx(0.5)


def test_states_are_those_that_the_clips_were_made_of(model: VoxCPM2) -> None:
    """The default solver makes from them the very patches that the engine made."""
    states = collect_states(model, 1.5, 6, TEXTS)
    made = states.solve(model, model.feat_decoder.schedule(Solver("euler", 10))).float()
    assert set(states.cfg.tolist()) == {1.5}
    sampling = {"cfg": 1.5, "max_len": 6, "attempts": 1}
    requests = [
        Request(text, build_prompt(model.tokenizer, text, patch_shape=model.patch_shape), Sampling(seed, **sampling))
        for seed, text in enumerate(TEXTS)
    ]
    for clip in Engine(model, EngineConfig(max_batch=2)).generate(requests):
        assert clip.latents is not None and clip.patches == 6
        for latent in clip.latents:
            assert (made - latent).abs().amax((1, 2)).min() < 1e-5


def test_the_midpoint_method_is_of_second_order() -> None:
    """dx/dt = x from time 1 to 0: twice the steps, a quarter of the error."""
    errors = []
    for steps in (10, 20, 40):
        x = z = 1.0
        times, moves = midpoint_moves([1 - i / steps for i in range(steps + 1)])
        assert len(times) == len(moves) == 2 * steps
        for move in moves:
            x, z = z - move.width * x, z - move.carry * x
        errors.append(abs(x - math.exp(-1)))
    assert [a / b for a, b in pairwise(errors)] == pytest.approx([4, 4], rel=0.1)


def test_every_solver_comes_to_the_same_patch(model: VoxCPM2) -> None:
    states = collect_states(model, 2.0, 6, TEXTS)
    exact = states.solve(model, midpoint(model, 200))

    def error(schedule: Schedule) -> float:
        return relative_error(states.solve(model, schedule), exact)

    ab2 = [error(model.feat_decoder.schedule(Solver("ab2", steps))) for steps in (5, 10, 20)]
    euler = [error(model.feat_decoder.schedule(Solver("euler", steps))) for steps in (5, 10, 20)]
    assert ab2 == sorted(ab2, reverse=True) and euler == sorted(euler, reverse=True)
    assert all(one < other for one, other in zip(ab2, euler, strict=True)) and ab2[-1] < 0.02
