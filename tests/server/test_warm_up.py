from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.jobs.settings import DEFAULTS, Settings
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model
from voxcli.server.warm_up import LONG, warm_up


@pytest.fixture(scope="module")
def model(tiny_checkpoint: Any) -> VoxCPM2:
    return load_model(tiny_checkpoint, device="cpu")


def test_without_graphs_there_is_nothing_to_warm_up(model: VoxCPM2) -> None:
    engine = Engine(model)
    warm_up(engine, DEFAULTS)
    assert engine.counters.steps == 0


def test_steps_and_prefills_run_in_every_number_with_the_usual_solver(
    model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(model, EngineConfig(max_batch=5))
    steps: Counter[tuple[int, Solver]] = Counter()
    prefills: Counter[int] = Counter()
    prefill = engine.runner.prefill

    def step(rows: list[int], solver: Solver) -> torch.Tensor:
        steps[len(rows), solver] += 1
        return engine.runner._step(torch.tensor(rows), solver, engine.runner._context)

    def counted(chunks: list[Any]) -> Any:
        prefills[len(chunks)] += 1
        return prefill(chunks)

    monkeypatch.setattr(engine.runner, "graphs", step)
    monkeypatch.setattr(engine.runner, "prefill", counted)
    warm_up(engine, Settings(solver="ab2", steps=4))
    solver = Solver("ab2", 4)
    assert steps.keys() == {(count, solver) for count in (1, 2, 4, 5)}
    assert steps[4, solver] == 2 * 2 + LONG, "long enough for pieces of audio of every size"
    assert prefills == {1: 2, 2: 2, 4: 3, 5: 2}, "a prefill is captured when its size occurs for the second time"
    engine.check_integrity()
    assert not engine.has_work and engine.streams.open == 0
