"""The state of a request in the engine: progress, the end, retries and preemption."""

from __future__ import annotations

import time

import pytest
import torch

from voxcli.engine.noise import NoiseSource
from voxcli.engine.request import Request, Sampling
from voxcli.engine.sequence import Sequence
from voxcli.model.prompt import Prompt

SHAPE = (2, 8)  # patch size and features
TEXT = 5  # tokens of the text to be spoken


def patches(count: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(count, *SHAPE, generator=torch.Generator().manual_seed(seed))


def zero_shot() -> Prompt:
    return Prompt(torch.tensor([7, 8, 9, 10, 11, 101]), torch.zeros(6, dtype=torch.bool), torch.empty(0, *SHAPE), TEXT)


def continuation() -> Prompt:
    """Return a prompt of six tokens and three patches to continue."""
    token_ids = torch.tensor([7, 8, 9, 10, 11, 101, 0, 0, 0])
    is_audio = torch.tensor([False] * 6 + [True] * 3)
    return Prompt(token_ids, is_audio, patches(3), TEXT)


def sequence(prompt: Prompt | None = None, limit: int = 40, seed: int = 5, **sampling: float) -> Sequence:
    request = Request("a", prompt or zero_shot(), Sampling(**sampling))  # type: ignore[arg-type]
    return Sequence(request, order=1, limit=limit, seed=seed)


def test_a_new_sequence() -> None:
    new = sequence()
    assert (new.request_id, new.prompt_length, new.length, new.patches, new.attempt) == ("a", 6, 6, 0, 1)
    assert (new.row, new.pages, new.prefilled, new.stop_at) == (0, [], 0, None)
    assert not new.ready and not new.finished and not new.bad_case


def test_a_sequence_is_ready_from_the_end_of_its_prefill_to_its_last_patch() -> None:
    one = sequence()
    one.prefilled = 5
    assert not one.ready
    one.prefilled = 6
    assert one.ready
    one.patches = 40
    assert one.finished and not one.ready, "not after its last patch"


def test_the_length_is_that_of_the_prompt_and_the_patches() -> None:
    one = sequence(continuation())
    one.patches = 4
    assert (one.prompt_length, one.length) == (9, 13)


@pytest.mark.parametrize(("count", "finished"), [(0, False), (39, False), (40, True), (41, True)])
def test_a_sequence_ends_at_its_limit(count: int, finished: bool) -> None:
    one = sequence(limit=40)
    one.patches = count
    assert one.finished is finished


@pytest.mark.parametrize("min_len", [0, 2, 7])
def test_a_stop_flag_is_ignored_up_to_min_len(min_len: int) -> None:
    one = sequence(min_len=min_len)
    for patch in range(min_len + 1):
        one.flag_stop(patch)
        assert one.stop_at is None
    one.flag_stop(min_len + 1)
    assert one.stop_at == min_len + 1
    one.flag_stop(min_len + 2)
    assert one.stop_at == min_len + 1, "only the first one counts"
    one.patches = min_len + 1
    assert not one.finished, "the last patch has not been generated yet"
    one.patches = min_len + 2
    assert one.finished


@pytest.mark.parametrize(
    ("ratio", "count", "bad"), [(6.0, 29, False), (6.0, 30, True), (1.5, 7, False), (1.5, 8, True)]
)
def test_a_clip_too_long_for_its_text_is_a_bad_case(ratio: float, count: int, bad: bool) -> None:
    one = sequence(ratio=ratio)
    one.patches = count
    assert one.bad_case is bad


def test_a_retry_starts_again_with_the_next_seed() -> None:
    one = sequence(limit=40, seed=5)
    one.row, one.pages, one.prefilled, one.patches = 3, [1, 2], 6, 40
    one.flag_stop(39)
    one.preempt(patches(4))
    one.retry()
    assert (one.attempt, one.seed) == (2, 5), "the seed of the request does not change"
    assert (one.row, one.pages, one.prefilled, one.patches, one.stop_at) == (0, [], 0, 0, None)
    assert (one.kept_patches, one.prompt_length) == (0, 6)
    assert torch.equal(one.noise.block(0), NoiseSource(6, SHAPE).block(0))


def test_after_a_preemption_the_patches_are_prefilled_with_the_prompt() -> None:
    one = sequence(continuation())
    one.row, one.pages, one.prefilled, one.patches = 3, [1], 9, 4
    one.flag_stop(3)
    made = patches(4, seed=2)
    one.preempt(made)
    assert (one.row, one.pages, one.prefilled) == (0, [], 0)
    assert (one.patches, one.kept_patches, one.attempt, one.stop_at) == (4, 4, 1, 3)
    assert (one.prompt_length, one.length) == (13, 13)
    assert torch.equal(one.condition(), made[-1]), "it continues from the last patch"


def test_the_condition_of_the_first_patch() -> None:
    assert torch.equal(sequence().condition(), torch.zeros(SHAPE))
    assert torch.equal(sequence(continuation()).condition(), patches(3)[-1])


@pytest.mark.parametrize("budget", range(1, 15))
def test_chunks_of_any_size_cover_the_prompt_and_the_kept_patches(budget: int) -> None:
    one = sequence(continuation())
    one.row = 3
    one.patches = 4
    made = patches(4, seed=2)
    one.preempt(made)
    one.row = 3
    chunks = []
    while one.prefilled < one.prompt_length:
        chunk = one.chunk(budget)
        assert (chunk.row, chunk.start) == (3, one.prefilled)
        assert len(chunk.token_ids) == len(chunk.is_audio) == min(budget, 13 - chunk.start)
        assert len(chunk.patches) == int(chunk.is_audio.sum())
        one.prefilled += len(chunk.token_ids)
        assert chunk.last == (one.prefilled == 13)
        chunks.append(chunk)
    assert torch.cat([chunk.token_ids for chunk in chunks]).tolist() == [7, 8, 9, 10, 11, 101] + [0] * 7
    assert torch.cat([chunk.is_audio for chunk in chunks]).tolist() == [False] * 6 + [True] * 7
    assert torch.equal(torch.cat([chunk.patches for chunk in chunks]), torch.cat((patches(3), made)))


def test_the_time_of_the_first_patch_is_measured_from_admission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 12.5)
    one = sequence()
    one.record_first_patch()
    assert one.timings.first_patch_s == 0.0, "never admitted"
    one.admitted_at = 10.0
    one.record_first_patch()
    assert one.timings.first_patch_s == 2.5
