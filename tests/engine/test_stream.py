from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.helpers import LAYOUTS, alone, request, run
from tests.engine.test_failures import broken
from voxcli.engine.engine import Engine
from voxcli.engine.stream import ClipStream
from voxcli.errors import SynthesisError
from voxcli.model.voxcpm2 import VoxCPM2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_joined_chunks_are_the_clip(tiny_model: VoxCPM2, layout: str) -> None:
    one = request(tiny_model, "a", "a longer line of text", layout=layout, seed=4, min_len=12, max_len=30, attempts=1)
    stream = ClipStream(Engine(tiny_model), one)
    chunks = list(stream)
    whole = alone(tiny_model, [one])["a"]
    assert stream.clip is not None and stream.clip.patches == whole.patches
    assert all(len(chunk) == tiny_model.patch_samples for chunk in chunks), "one chunk per patch"
    torch.testing.assert_close(torch.tensor(np.concatenate(chunks)), torch.tensor(whole.audio), atol=1e-4, rtol=0)
    assert np.array_equal(stream.clip.audio, np.concatenate(chunks))  # type: ignore[arg-type]


def test_the_first_chunk_needs_only_one_step(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    next(iter(ClipStream(engine, request(tiny_model, "a", "hello", seed=1, min_len=20, max_len=30))))
    assert engine.counters.steps == 1


def test_closing_the_stream_early_frees_everything(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    chunks = iter(ClipStream(engine, request(tiny_model, "a", "hello", seed=1, min_len=20, max_len=30)))
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert run(engine, [request(tiny_model, "b", "hello", seed=1, max_len=4)]).keys() == {"b"}, "nobody waits for a"


def test_a_failure_of_the_request_is_raised(tiny_model: VoxCPM2) -> None:
    with pytest.raises(SynthesisError, match="patch that is not finite"):
        list(ClipStream(Engine(tiny_model), broken(tiny_model, "bad", 1)))


def test_clips_of_other_requests_are_collected(tiny_model: VoxCPM2) -> None:
    engine = Engine(tiny_model)
    other = request(tiny_model, "other", "hello world", seed=2, max_len=4)
    engine.add(other)
    stream = ClipStream(engine, request(tiny_model, "a", "hello", seed=1, min_len=10, max_len=12))
    list(stream)
    assert [clip.request_id for clip in stream.others] == ["other"]
