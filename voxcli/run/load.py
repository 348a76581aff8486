"""From the model options of a command to an engine that is ready."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voxcli.run.models import choose_model

if TYPE_CHECKING:
    from voxcli.engine.engine import Engine


@dataclass(frozen=True)
class ModelOptions:
    """Which model runs, where, and how many requests at once (None: what the device is good for)."""

    model: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_batch: int | None = None


@dataclass(frozen=True)
class Loaded:
    engine: Engine
    name: str  # of the model, with device and dtype, for people


def load_engine(options: ModelOptions, say: Callable[[str], None]) -> Loaded:
    """Choose, load and set up; takes seconds. Raises ModelError."""
    from voxcli.engine.engine import Engine, EngineConfig
    from voxcli.model.weights import load_model

    choice = choose_model(options.model, say)
    model = load_model(choice.folder, device=options.device, dtype=options.dtype)
    engine = Engine(model, EngineConfig(max_batch=options.max_batch))
    return Loaded(engine, f"{choice.name} on {model.device}, {str(model.dtype).removeprefix('torch.')}")
