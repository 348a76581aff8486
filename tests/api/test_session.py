"""A batch of rows on the engine of a loaded model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import voxcli
from tests.api.loaded import LIMITS, LONG, check_free, engine_of
from voxcli import TTS
from voxcli.engine.engine import Engine

pytestmark = pytest.mark.usefixtures("here")


def test_a_batch_is_one_batch_of_the_engine(tts: TTS) -> None:
    at_once = []
    engine_of(tts).on_patch = lambda patches: at_once.append(len(patches))
    clips = list(tts.batch(["One.", "Two two.", "Three three three."], steps=2, max_seconds=0.5, seed=1))
    assert max(at_once) == 3
    assert sorted(clip.text for clip in clips) == ["One.", "Three three three.", "Two two."]


def test_clips_come_as_they_finish(tiny_checkpoint: Path) -> None:
    with voxcli.load(tiny_checkpoint, max_batch=1, notify=[].append) as tts:
        steps: list[int] = []
        for _ in tts.batch(["One.", "Two."], steps=2, max_seconds=0.5, min_seconds=0.4, seed=1):
            steps.append(engine_of(tts).counters.steps)
    assert 0 < steps[0] < steps[1]


def test_a_row_that_fails_in_the_engine_leaves_the_others(tts: TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    prefill = Engine._run_prefill

    def failing(self: Engine, sequences: Any, shares: Any) -> None:
        if any(sequence.request_id.startswith("bad") for sequence in sequences):
            raise ValueError("broken")
        prefill(self, sequences, shares)

    monkeypatch.setattr(Engine, "_run_prefill", failing)
    clips = {c.id: c for c in tts.batch([{"id": name, "text": "One."} for name in ("a", "bad", "c")], **LIMITS)}
    assert str(clips["bad"].error) == "ValueError: broken"
    assert np.array_equal(clips["a"].audio, clips["c"].audio)
    check_free(tts)


def test_leaving_a_batch_early_frees_rows_and_pages(tts: TTS) -> None:
    whole = tts.speak(LONG, **LIMITS).audio
    rows: list[dict[str, object]] = [{"text": LONG, "max_seconds": 0.3 + 0.06 * number} for number in range(20)]
    for clip in tts.batch(rows, seed=9, steps=3, max_chars=60):
        assert clip.error is None
        break
    check_free(tts)
    generator = tts.batch(rows, seed=9, steps=3, max_chars=60)
    next(generator)
    assert engine_of(tts).scheduler.running
    generator.close()
    check_free(tts)
    assert np.array_equal(tts.speak(LONG, **LIMITS).audio, whole)
