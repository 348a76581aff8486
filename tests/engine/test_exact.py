"""On a CPU in float32 the audio of a request has the same bits with any other requests, concurrent or earlier."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.engine.helpers import LAYOUTS, TEXTS, alone, assert_same, latents, request, run
from voxcli.engine.config import EngineConfig
from voxcli.engine.decode import AudioDecoder
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request
from voxcli.engine.voices import VoiceEncoder
from voxcli.kernels import torch_ops
from voxcli.model.solver import SOLVERS
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model

COUNT = 8
COS, SIN = torch.randn(2, 1, 128, generator=torch.Generator().manual_seed(1))
NOISE = torch.randn(194, 4, 64, generator=torch.Generator().manual_seed(2))
FREE = torch.randn(194, 4, 64, generator=torch.Generator().manual_seed(4))
CFG = torch.linspace(1, 3, 194)


def guided(velocity: torch.Tensor) -> torch.Tensor:
    rows = len(velocity)
    return torch.stack(
        torch_ops.guided_move(NOISE[:rows], torch.cat((velocity, FREE[:rows])), CFG[:rows], 0.1, -0.3), 1
    )


def mixed(model: VoxCPM2) -> list[Request]:
    """Return short requests of each layout and solver. They exceed 32 positions, where attention uses a longer span."""
    return [
        request(
            model,
            f"r{n}",
            TEXTS[n],
            layout=LAYOUTS[n % 4],
            voice=n,
            seed=n,
            solver=SOLVERS[n // 2 % 2],
            steps=4 + n % 2,
            max_len=16 + n,
        )
        for n in range(COUNT)
    ]


@pytest.fixture(scope="module")
def singles(tiny_model: VoxCPM2) -> dict[str, Clip]:
    return alone(tiny_model, mixed(tiny_model))


def check(clips: dict[str, Clip], singles: dict[str, Clip]) -> None:
    assert clips
    for name, clip in clips.items():
        assert_same(clip, singles[name], 0)


@pytest.mark.parametrize("rows", [2, 3, COUNT])
def test_any_number_of_rows(tiny_model: VoxCPM2, singles: dict[str, Clip], rows: int) -> None:
    check(run(Engine(tiny_model, EngineConfig(max_batch=rows)), mixed(tiny_model)), singles)


@pytest.mark.parametrize("seed", range(2))
def test_any_order_and_time_of_arrival_with_cancelled_requests(
    tiny_model: VoxCPM2, singles: dict[str, Clip], seed: int
) -> None:
    rng = random.Random(seed)
    requests = mixed(tiny_model)
    rng.shuffle(requests)
    engine = Engine(tiny_model, EngineConfig(max_batch=5))
    clips: dict[str, Clip] = {}
    extra = 0
    while requests or engine.has_work:
        if requests and rng.random() < 0.5:
            engine.add(requests.pop())
            engine.add(request(tiny_model, f"extra {extra}", "one two three four", seed=extra, min_len=20))
            extra += 1
        elif extra and rng.random() < 0.5:
            engine.cancel(f"extra {rng.randrange(extra)}")
        clips |= {clip.request_id: clip for clip in engine.step() if not clip.request_id.startswith("extra")}
    assert len(clips) == COUNT
    check(clips, singles)


def test_prompts_longer_than_the_prefill_budget(tiny_model: VoxCPM2) -> None:
    """Other requests affect when a chunk of a prompt is prefilled, but not where it ends."""
    requests = mixed(tiny_model)
    clips = run(Engine(tiny_model, EngineConfig(prefill_tokens=9)), requests)
    check(clips, alone(tiny_model, requests, prefill_tokens=9))


def test_the_audio_decode_of_many_clips_at_once(tiny_model: VoxCPM2) -> None:
    clips = [latents(tiny_model, 1 + 5 * n % 23, n) for n in range(16)]
    with torch.inference_mode():
        together = AudioDecoder(tiny_model, 16).decode(clips)
        for clip, audio in zip(clips, together, strict=True):
            assert torch.equal(AudioDecoder(tiny_model, 1).decode([clip])[0], audio)


@pytest.fixture
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize(("width", "columns"), [(2048, 2560), (384, 1792), (64, 1024), (384, 2)])
def test_a_row_of_a_product_does_not_depend_on_other_rows(width: int, columns: int) -> None:
    generator = torch.Generator().manual_seed(width)
    x, weight = torch.randn(70, width, generator=generator), torch.randn(columns, width, generator=generator)
    whole = torch_ops.linear(x, weight)
    torch.testing.assert_close(whole, x @ weight.T, atol=1e-3, rtol=1e-4)
    added = torch_ops.linear_add(torch.ones(70, columns), x, weight)
    for rows in (*range(1, 15), 22, 33, 64):
        at = torch.randperm(70, generator=generator)[:rows]
        assert torch.equal(torch_ops.linear(x[at], weight), whole[at]), rows
        assert torch.equal(torch_ops.linear_add(torch.ones(rows, columns), x[at], weight), added[at]), rows


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
@pytest.mark.parametrize(
    "operation",
    [
        torch_ops.silu_mul,
        torch_ops.silu,
        lambda x: torch_ops.rms_norm(x, None, 1e-5),
        lambda x: torch_ops.rotate(x.view(-1, 1, 14, 128), COS, SIN),
        lambda x: torch_ops.snake(x.view(-1, 64, 28), COS[0, :64, None] + 1, SIN[0, :64, None]),
        lambda x: guided(x[: len(x) // 2, :256].view(-1, 4, 64)),
        lambda x: torch.tanh(x).mul_(9).round_(),
    ],
    ids=["silu_mul", "silu", "rms_norm", "rotate", "snake", "guided_move", "tanh"],
)
def test_a_row_of_an_elementwise_operation_does_not_depend_on_other_rows(
    threads: int, operation: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """The tensor is large enough to be divided between threads, and its size makes the parts end within a row."""
    torch.manual_seed(3)
    x = torch.randn(388, 1792)
    whole = operation(x).flatten(1)
    for rows in (2, 6, 22, 34, 386):
        assert torch.equal(operation(x[:rows]).flatten(1)[: rows // 2], whole[: rows // 2]), rows


STRICT = os.environ.get("MKL_CBWR") == "AUTO,STRICT"


@pytest.mark.skipif(not STRICT, reason="products are the same with any number of threads only in MKL's strict mode")
def test_voices_and_audio_are_the_same_with_any_number_of_threads(demo_voice: Path) -> None:
    model = load_model(demo_voice, device="cpu")
    clip, voice = latents(model, 11, 1), torch.randn(20_000, generator=torch.Generator().manual_seed(2)) / 9
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            with torch.inference_mode():
                [audio] = AudioDecoder(model, 1).decode([clip])
            results.append((audio, VoiceEncoder(model, 1).encode(voice.numpy(), "voice", "right")))
    finally:
        torch.set_num_threads(before)
    for audio, encoded in results[1:]:
        assert torch.equal(audio, results[0][0])
        assert torch.equal(encoded, results[0][1])
