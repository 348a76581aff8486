"""With a merged LoRA the latents equal those of the reference package with the same files.

Merging changes the rounding of sums. If such an error crosses a rounding boundary of FSQ, the rest of the clip differs.
The clips are therefore short.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.adapters import lora_tensors, write_lora
from tests.reference import load_reference
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.model.prompt import build_prompt
from voxcli.model.weights import load_model

TEXTS = ("hello world", "你好世界", "a longer line of text")
LENGTH = 12


def ours(checkpoint: Path, lora: Path | None) -> dict[str, Clip]:
    model = load_model(checkpoint, device="cpu", dtype="float32", lora=lora)
    requests = [
        Request(
            text,
            build_prompt(model.tokenizer, text, patch_shape=model.patch_shape),
            Sampling(seed=seed, attempts=1, max_len=LENGTH),
        )
        for seed, text in enumerate(TEXTS)
    ]
    return {clip.request_id: clip for clip in Engine(model).generate(requests)}


@pytest.mark.parametrize(("rank", "alpha"), [(1, 1), (4, 8), (32, 16)])
def test_latents_equal_the_reference(random_checkpoint: Path, tmp_path: Path, rank: int, alpha: int) -> None:
    lora = write_lora(tmp_path / "lora", lora_tensors(random_checkpoint, rank), rank, alpha)
    reference = load_reference(random_checkpoint, lora)
    plain, adapted = ours(random_checkpoint, None), ours(random_checkpoint, lora)
    for seed, text in enumerate(TEXTS):
        torch.manual_seed(seed)
        _, _, latents = reference.generate_with_prompt_cache(text, None, max_len=LENGTH)
        clip = adapted[text]
        assert clip.latents is not None and plain[text].latents is not None
        assert clip.patches == len(latents)
        torch.testing.assert_close(clip.latents, latents, atol=1e-4, rtol=0)
        shared = min(clip.patches, plain[text].patches)
        assert (clip.latents[:shared] - plain[text].latents[:shared]).abs().max() > 0.01, (
            "the adapter must change the latents"
        )
