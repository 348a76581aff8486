"""Compile the Triton kernels of an engine in threads, while the first prompts are prepared.

The first command on a machine compiles about 40 kernels, one after another for 15 seconds, most of them for the audio
decoder, which comes last. The compiler and `ptxas` release the interpreter's lock, so threads share the work. Once the
kernels are in Triton's cache, the same calls load them onto the GPU in milliseconds.

Each call runs a part of the model on zeros, for a single request. Kernels that this does not cover are compiled when
they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import torch

from voxcli.kernels import ops
from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.solver import Solver
from voxcli.model.voxcpm2 import VoxCPM2

THREADS = 8
FRAMES = 16  # latent frames that the decoder is called on
STEPS = 2  # minimum number of solver steps that evaluate the estimator


class WarmUp:
    """Runs the parts of a model in threads, starting immediately."""

    def __init__(self, model: VoxCPM2, decoder: ClipDecoder | None):
        threads = ThreadPoolExecutor(THREADS, thread_name_prefix="warm-up")
        self._calls: list[Future[None]] = [threads.submit(_run, call) for call in _calls(model, decoder)]
        threads.shutdown(wait=False)

    def wait(self) -> None:
        """Wait for all calls, because a CUDA graph can't be captured while other threads use the GPU."""
        for call in self._calls:
            call.result()
        self._calls.clear()


def _run(call: Callable[[], object]) -> None:
    with suppress(Exception), torch.inference_mode():  # the engine meets the same error later, and reports it
        call()


def _calls(model: VoxCPM2, decoder: ClipDecoder | None) -> Iterator[Callable[[], object]]:
    """Yield the calls, slowest first."""
    if decoder is not None:
        yield from _decoder_calls(decoder, model.device)
    yield partial(_one_patch, model)
    yield partial(model.encode_patches, torch.zeros(1, *model.patch_shape, device=model.device))


def _decoder_calls(decoder: ClipDecoder, device: torch.device) -> Iterator[Callable[[], object]]:
    zeros = partial(torch.zeros, 1, dtype=decoder.dtype, device=device)
    times = FRAMES
    for block in decoder.blocks:
        yield partial(ops.upsample, zeros(times, block.entry.shape[1]), block.entry, block.weight)
        times *= block.weight.shape[1] // len(block.offset)
        table, matrix, dilation = block.units[0]  # the other units differ in their values only
        yield partial(ops.residual_unit, zeros(times, len(block.offset)), table, matrix, dilation)
    yield partial(ops.last_conv, zeros(times, decoder.last.shape[1]), decoder.last)


def _one_patch(model: VoxCPM2) -> torch.Tensor:
    width = model.feat_decoder.estimator.in_proj.weight.shape[0]
    cond, noise = torch.zeros(2, 1, *model.patch_shape, device=model.device)
    return model.next_patch(
        torch.zeros(1, 2, width, dtype=model.dtype, device=model.device),
        cond,
        noise,
        torch.ones(1, device=model.device),
        model.feat_decoder.schedule(Solver("euler", STEPS)),
    )
