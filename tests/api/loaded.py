"""Values and checks for tests of a loaded model."""

from __future__ import annotations

from typing import Any

from voxcli import TTS
from voxcli.engine.engine import Engine

LONG = "The wind came over the hill. It did not stop there. " * 2
LIMITS: dict[str, Any] = {"seed": 9, "steps": 3, "max_seconds": 1.5, "max_chars": 60}


def options_of(settings: dict[str, Any]) -> list[str]:
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def engine_of(tts: TTS) -> Engine:
    assert tts._shared._loaded is not None
    return tts._shared._loaded.engine


def check_free(tts: TTS) -> None:
    """Nothing is left of any call: no rows, no pages, no clips."""
    engine = engine_of(tts)
    engine.check_integrity()
    assert not engine.scheduler.running and not engine.scheduler.waiting
    assert engine.state.free == len(engine.state.cfg) - 1
    assert engine.scheduler.pool.free == engine.scheduler.pool.total
    assert engine._done == []
