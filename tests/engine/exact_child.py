"""Generates the same clips in several ways. `test_exact_settings` starts it with various library settings.

    python -m tests.engine.exact_child 1 2 3

The arguments are numbers of threads. Writes JSON to stdout: for each number of threads the digests of the clips' audio
by way of generating them, whether the engine is exact, and its strategies.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable

import torch

from voxcli import Engine, EngineConfig, Request, Sampling, build_prompt, demo_voice, load_model
from voxcli.engine.exactness import examine
from voxcli.kernels import torch_ops
from voxcli.model.solver import SOLVERS
from voxcli.model.voxcpm2 import VoxCPM2

TEXTS = "The sun is rising.", "Two birds sing in the old tree.", "Go on.", "It was late when we came home."
PRODUCTS = (2048, 2560), (384, 1792), (384, 2), (64, 1024)  # width and columns; not all are the demo voice's


def main(threads: Iterable[int]) -> None:
    model = load_model(demo_voice.FOLDER, device="cpu")
    voice = Engine(model).encode_voice(torch.sin(torch.arange(16_000) / 20).numpy(), key="a voice")
    results = {}
    for count in threads:
        torch.set_num_threads(count)
        requests = _requests(model, voice)
        results[count] = {
            "exact": Engine(model).exact,
            "strategies": str(examine(model)),
            "products": [shape for shape in PRODUCTS if not _rows_agree(*shape)],
            "together": _digests(model, requests),
            "reversed, two at a time": _digests(model, requests[::-1], 2),
            "alone": {name: digest for one in requests for name, digest in _digests(model, [one]).items()},
        }
    json.dump({"strict": os.environ.get("MKL_CBWR") == "AUTO,STRICT", "threads": results}, sys.stdout)


def _requests(model: VoxCPM2, voice: torch.Tensor) -> list[Request]:
    sampling = {"max_len": 3, "steps": 3}
    return [
        Request(
            text,
            build_prompt(model.tokenizer, text, patch_shape=model.patch_shape, reference=None if number % 2 else voice),
            Sampling(seed=number, solver=SOLVERS[number // 2], **sampling),
        )
        for number, text in enumerate(TEXTS)
    ]


def _digests(model: VoxCPM2, requests: list[Request], max_batch: int | None = None) -> dict[str, str]:
    clips = Engine(model, EngineConfig(max_batch=max_batch)).generate(requests)
    return {
        clip.request_id: hashlib.sha256(clip.audio.tobytes()).hexdigest() for clip in clips if clip.audio is not None
    }


def _rows_agree(width: int, columns: int) -> bool:
    """Compare random subsets of random rows, which are not the inputs that a strategy was chosen with."""
    generator = torch.Generator().manual_seed(width)
    x, weight = torch.randn(70, width, generator=generator), torch.randn(columns, width, generator=generator)
    whole = torch_ops.linear(x, weight)
    return all(
        torch.equal(torch_ops.linear(x[at], weight), whole[at])
        for at in (torch.randperm(70, generator=generator)[:rows] for rows in (*range(1, 15), 22, 33, 64))
    )


if __name__ == "__main__":
    main(map(int, sys.argv[1:]))
