"""LocDiT and its flow matching (CFM) solver: from the hidden states of the two LMs to the next audio patch.

The input of the estimator is [mu (2 tokens), time, condition (previous patch), noisy patch]: 11 tokens at full size.
Guidance is classifier-free (the second half of the batch has mu = 0) with the optimized scale of CFG-Zero* (Fan et al.
2025). The first steps of CFG-Zero* have zero velocity, so they need no evaluation. With the Euler solver the result
equals that of `UnifiedCFM` and `VoxCPMLocDiTV2` of the reference package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from voxcli.kernels import ops
from voxcli.model.config import ModelConfig
from voxcli.model.solver import Move, Solver, ab2_moves, ab2_times, zero_init_steps
from voxcli.model.transformer import Linear, Transformer


@dataclass(frozen=True, eq=False)
class Schedule:
    """The moves of a solver, from time 1 to 0, and the time embedding of each, [moves, hidden]."""

    time_tokens: torch.Tensor
    moves: tuple[Move, ...]


def euler_times(steps: int) -> tuple[list[float], list[float]]:
    """Return the times and widths of `steps` Euler steps, accumulated in float32 as in the reference package.

    The times are linear from 1 to 0, warped by t + (cos(pi/2 t) - 1 + t).
    """
    span = torch.linspace(1, 0, steps + 1)
    span = span + (torch.cos(torch.pi / 2 * span) - 1 + span)
    time, width = span[0], span[0] - span[1]
    times, widths = [], []
    for step in range(1, steps + 1):
        times.append(float(time))
        widths.append(float(width))
        time = time - width
        if step < steps:
            width = time - span[step + 1]
    return times, widths


class TimestepEmbedding(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear_1 = Linear(width, width)
        self.linear_2 = Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear_2(ops.silu(self.linear_1(x)))


class Estimator(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        width = config.locdit.hidden_size
        self.in_proj = Linear(config.feat_dim, width)
        self.cond_proj = Linear(config.feat_dim, width)
        self.out_proj = Linear(width, config.feat_dim)
        self.time_mlp = TimestepEmbedding(width)
        self.delta_time_mlp = TimestepEmbedding(width)
        self.decoder = Transformer(config.locdit, config.lm_config, 2 * config.patch_size + 3)

    def time_tokens(self, times: list[float], deltas: list[float]) -> torch.Tensor:
        """Return the sum of the embeddings of each time and each interval, [moves, hidden].

        deltas: the intervals that a mean velocity covers; 0 for the velocity at a point in time.
        """

        def embed(values: list[float]) -> torch.Tensor:
            weight = self.in_proj.weight
            x = torch.tensor(values, dtype=torch.float32, device=weight.device)
            half = weight.shape[0] // 2
            rates = torch.exp(torch.arange(half, device=weight.device) * -(math.log(10000) / (half - 1)))
            angles = 1000 * x[:, None] * rates
            return torch.cat((angles.sin(), angles.cos()), -1).to(weight.dtype)

        return self.time_mlp(embed(times)) + self.delta_time_mlp(embed(deltas))


class LocDiT(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        self.patch_size = config.patch_size
        self.mean_mode = config.dit_config.dit_mean_mode
        self.estimator = Estimator(config)

    def schedule(self, solver: Solver) -> Schedule:
        """Return the schedule of a solver; it does not depend on the request."""
        if solver.name == "ab2":
            times = ab2_times(solver.evaluations)
            return self.schedule_of(times[:-1], ab2_moves(times))
        skipped = zero_init_steps(solver.steps)
        times, widths = (values[skipped:] for values in euler_times(solver.steps))
        return self.schedule_of(times, [Move(width, width) for width in widths], widths if self.mean_mode else None)

    def schedule_of(
        self, times: Sequence[float], moves: Sequence[Move], deltas: Sequence[float] | None = None
    ) -> Schedule:
        """Return the schedule of given times and moves.

        deltas: the interval of each move, for models that predict mean velocities; None: velocities at the times.
        """
        tokens = self.estimator.time_tokens(list(times), list(deltas or [0.0] * len(times)))
        return Schedule(tokens, tuple(moves))

    def forward(
        self, mu: torch.Tensor, cond: torch.Tensor, noise: torch.Tensor, cfg: torch.Tensor, schedule: Schedule
    ) -> torch.Tensor:
        """Solve for the next patch.

        mu:    [batch, 2, hidden], the projected hidden states of the base LM and the residual LM.
        cond:  [batch, patch_size, feat_dim], the previous patch; zeros if there is none.
        noise: float32[batch, patch_size, feat_dim], the state at time 1.
        cfg:   float32[batch], the guidance scale of each row.
        Returns float32[batch, patch_size, feat_dim].
        """
        net = self.estimator
        rows, dtype = len(mu), net.in_proj.weight.dtype
        guided = torch.cat((mu, torch.zeros_like(mu)))
        condition = net.cond_proj(cond.to(dtype))
        # The tokens before the noisy patch; only the time token (index 2) changes between steps.
        prefix = torch.cat((guided, guided.new_zeros(2 * rows, 1, mu.shape[-1]), condition.repeat(2, 1, 1)), 1)
        x = z = noise
        for token, move in zip(schedule.time_tokens, schedule.moves, strict=True):
            tokens = ops.join_tokens(prefix, 2, token, net.in_proj(x.to(dtype)))
            hidden = net.decoder.local(tokens, slice(-self.patch_size, None))
            x, z = ops.guided_move(z, net.out_proj(hidden), cfg, move.width, move.carry)
        return x
