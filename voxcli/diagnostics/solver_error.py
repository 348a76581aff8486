"""Measure the error of the solvers on states of the loaded model.

The model speaks a few sentences, and the inputs of LocDiT are stored for each patch: the hidden states of the LMs, the
previous patch, the noise and the guidance scale. Each solver then makes these patches again from the same inputs. The
reference is 200 steps of the midpoint method, starting where ten Euler steps start to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from rich.table import Table

from voxcli.diagnostics.bench import device_name
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.load import LoadedEngine
from voxcli.engine.request import Request, Sampling
from voxcli.errors import SynthesisError
from voxcli.model.locdit import Schedule
from voxcli.model.prompt import build_prompt
from voxcli.model.solver import Move, Solver, warp
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.terminal import counted

SENTENCES = (
    "The ferry leaves the island twice a day, at noon and shortly before sunset.",
    "Who left the green umbrella on the bench behind the station?",
    "Seven white geese crossed the frozen lake without a sound.",
    "Please close the gate, or the goats will eat the roses again.",
    "In the evening my uncle repaired clocks for the whole village.",
    "Thank you, that was a wonderful concert.",
)
SOLVERS = (
    Solver("euler", 20),
    Solver("euler", 10),
    Solver("euler", 5),
    Solver("ab2", 10),
    Solver("ab2", 7),
    Solver("ab2", 6),
    Solver("ab2", 5),
)
EXACT_STEPS = 200
ROWS = 64  # states per batch


@dataclass(frozen=True)
class SolverError:
    """The error of a solver. error: RMS difference to the exact patches, relative to the RMS of the exact patches."""

    solver: str
    steps: int
    evaluations: int
    error: float


@dataclass(frozen=True)
class SolverReport:
    """Errors of all solvers. resolution: error of the exact method with half the steps; smaller errors are noise."""

    model: str
    device: str
    states: int
    cfg: float
    resolution: float
    errors: tuple[SolverError, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def tables(self) -> list[Table]:
        table = Table(
            title=f"{self.model}\n{self.device}",
            caption=(
                f"relative RMS error of the patch against {EXACT_STEPS} midpoint steps; of {EXACT_STEPS // 2}: "
                f"{self.resolution:.5f}; {counted(self.states, 'state')}, cfg {self.cfg:g}"
            ),
        )
        for name in ("solver", "steps", "evaluations", "error"):
            table.add_column(name, justify="left" if name == "solver" else "right")
        for row in self.errors:
            table.add_row(row.solver, str(row.steps), str(row.evaluations), f"{row.error:.4f}")
        return [table]


@dataclass(frozen=True, eq=False)
class States:
    """Inputs of LocDiT, one row per patch; see `LocDiT.forward`."""

    mu: torch.Tensor
    cond: torch.Tensor
    noise: torch.Tensor
    cfg: torch.Tensor

    def __len__(self) -> int:
        return len(self.mu)

    @torch.inference_mode()
    def solve(self, model: VoxCPM2, schedule: Schedule) -> torch.Tensor:
        """Make the patches of all states: float64[states, patch_size, feat_dim]."""
        patches = []
        for first in range(0, len(self), ROWS):
            rows = slice(first, first + ROWS)
            made = model.next_patch(self.mu[rows], self.cond[rows], self.noise[rows], self.cfg[rows], schedule)
            patches.append(made.double())
        return torch.cat(patches)


def measure_solvers(
    loaded: LoadedEngine, cfg: float, patches: int, asked: Solver, notify: Callable[[str], None]
) -> SolverReport:
    """Measure the errors of SOLVERS and of one more solver.

    patches: maximum number of patches per sentence.
    asked:   the additional solver.
    notify:  receives progress messages.
    """
    model = loaded.engine.model
    notify("speaking ...")
    states = collect_states(model, cfg, patches)
    notify(f"{EXACT_STEPS} midpoint steps for {counted(len(states), 'state')} ...")
    exact = states.solve(model, midpoint(model, EXACT_STEPS))
    coarser = states.solve(model, midpoint(model, EXACT_STEPS // 2))
    errors = []
    for solver in dict.fromkeys((*SOLVERS, asked)):
        made = states.solve(model, model.feat_decoder.schedule(solver))
        errors.append(SolverError(*solver, solver.evaluations, relative_error(made, exact)))
    return SolverReport(
        loaded.name, device_name(model.device), len(states), cfg, relative_error(coarser, exact), tuple(errors)
    )


def relative_error(made: torch.Tensor, exact: torch.Tensor) -> float:
    return float((made - exact).norm() / exact.norm())


def collect_states(model: VoxCPM2, cfg: float, patches: int, texts: Iterable[str] = SENTENCES) -> States:
    """Speak texts with the default solver and collect the states of all patches. Raises SynthesisError on failure."""
    kept: list[tuple[torch.Tensor, ...]] = []
    requests = [
        Request(
            str(seed),
            build_prompt(model.tokenizer, text, patch_shape=model.patch_shape),
            Sampling(seed=seed, cfg=cfg, max_len=patches, attempts=1),
            decode=False,
        )
        for seed, text in enumerate(texts)
    ]
    # Without graphs and padding rows: a replayed graph calls no hook, and every row must belong to a request.
    engine = Engine(model, EngineConfig(max_batch=len(requests), graphs=False, pad_to_bucket=False))
    hook = model.feat_decoder.register_forward_pre_hook(
        lambda _, given: kept.append(tuple(part.clone() for part in given[:4]))
    )
    try:
        for clip in engine.generate(requests):
            if clip.error is not None:
                raise SynthesisError(f"no states to measure: {clip.error}")
    finally:
        hook.remove()
    return States(*(torch.cat(parts) for parts in zip(*kept, strict=True)))


def midpoint(model: VoxCPM2, steps: int) -> Schedule:
    """Return the schedule of the midpoint method, starting where ten Euler steps begin, in the reference's time."""
    return model.feat_decoder.schedule_of(*midpoint_moves([warp(0.9 * (1 - i / steps)) for i in range(steps + 1)]))


def midpoint_moves(grid: Sequence[float]) -> tuple[list[float], list[Move]]:
    """Return times and moves of midpoint steps over a grid: half a step, then a whole step from the same start."""
    times, moves = [], []
    for time, following in pairwise(grid):
        width = time - following
        times += [time, time - width / 2]
        moves += [Move(width / 2, 0.0), Move(width, width)]
    return times, moves
