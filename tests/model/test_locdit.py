"""The Euler schedule against values computed by hand and in float64; the other solver against a textbook loop."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from voxcli.model.locdit import euler_times
from voxcli.model.solver import Move, Solver, ab2_times
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model


@pytest.fixture(scope="module")
def tiny_model(tiny_checkpoint: Path) -> VoxCPM2:
    return load_model(tiny_checkpoint, device="cpu")


def test_two_steps_by_hand() -> None:
    """Linear times 1, 1/2, 0; warped: 1, 1/2 + cos(pi/4) - 1/2 = 0.7071.., 0."""
    times, widths = euler_times(2)
    assert times == pytest.approx([1.0, math.sqrt(0.5)], abs=1e-6)
    assert widths == pytest.approx([1 - math.sqrt(0.5), math.sqrt(0.5)], abs=1e-6)


@pytest.mark.parametrize("steps", [2, 10, 25, 100])
def test_times_follow_the_formula(steps: int) -> None:
    times, widths = euler_times(steps)
    linear = [1 - i / steps for i in range(steps + 1)]
    warped = [t + (math.cos(math.pi / 2 * t) - 1 + t) for t in linear]
    assert times == pytest.approx(warped[:-1], abs=1e-5)
    assert sum(widths) == pytest.approx(1.0, abs=1e-5)
    assert all(width > 0 for width in widths)


@pytest.mark.parametrize("steps", [2, 10, 60])
def test_the_moves_of_euler_are_the_widths_of_its_steps(tiny_model: VoxCPM2, steps: int) -> None:
    solver = Solver("euler", steps)
    times, widths = euler_times(steps)
    moves = tiny_model.feat_decoder.schedule(solver).moves
    assert moves == tuple(Move(width, width) for width in widths[-solver.evaluations :])
    assert len(times) - len(moves) == (2 if steps == 60 else 1)


@torch.inference_mode()
@pytest.mark.parametrize("steps", [2, 3, 5, 10])
def test_ab2_equals_the_textbook_loop(tiny_model: VoxCPM2, steps: int) -> None:
    """The loop keeps the last velocity. It computes each velocity with a single move of width 1."""
    generator = torch.Generator().manual_seed(steps)
    rows, (patch, features) = 3, tiny_model.patch_shape
    mu = torch.randn(rows, 2, tiny_model.config.locdit.hidden_size, generator=generator)
    cond, noise = torch.randn(2, rows, patch, features, generator=generator)
    cfg = torch.tensor([1.0, 2.0, 3.5])
    decoder = tiny_model.feat_decoder

    def velocity(x: torch.Tensor, time: float) -> torch.Tensor:
        return x - decoder(mu, cond, x, cfg, decoder.schedule_of([time], [Move(1.0, 1.0)]))

    x, times = noise, ab2_times(steps - 1)
    before: tuple[torch.Tensor, float] | None = None
    for time, following in pairwise(times):
        v, width = velocity(x, time), time - following
        if before is None:
            x = x - width * v
        else:
            ratio = width / before[1]
            x = x - width * ((1 + ratio / 2) * v - ratio / 2 * before[0])
        before = v, width
    made = decoder(mu, cond, noise, cfg, decoder.schedule(Solver("ab2", steps)))
    torch.testing.assert_close(made, x, atol=1e-5, rtol=1e-5)
    assert (made - noise).abs().max() > 0.01


def test_for_a_mean_velocity_model_ab2_uses_velocities_at_a_point_in_time(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = tiny_model.feat_decoder
    tokens = {name: decoder.schedule(Solver(name, 4)).time_tokens for name in ("euler", "ab2")}
    monkeypatch.setattr(decoder, "mean_mode", True)
    assert torch.equal(decoder.schedule(Solver("ab2", 4)).time_tokens, tokens["ab2"])
    assert not torch.equal(decoder.schedule(Solver("euler", 4)).time_tokens, tokens["euler"])
