from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from tests.engine.helpers import mixed, run
from voxcli.engine.engine import Engine
from voxcli.model.transformer import Layer
from voxcli.model.weights import load_model


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_folded_norms_change_only_rounding(tiny_checkpoint: Path, dtype: str) -> None:
    model = load_model(tiny_checkpoint, device="cpu", dtype=dtype)
    folded = copy.deepcopy(model)
    folded.tokenizer = model.tokenizer
    for module in folded.modules():
        if isinstance(module, Layer):
            module.fold_norms()
    assert all(layer.input_layernorm.weight is None for layer in folded.base_lm.layers)
    patches = torch.randn(3, *model.patch_shape, generator=torch.Generator().manual_seed(0))
    ours, plain = folded.encode_patches(patches), model.encode_patches(patches)
    assert not torch.equal(ours, plain), "the norms have weights other than one, so results must differ"
    assert (ours - plain).norm() / plain.norm() < (1e-5 if dtype == "float32" else 2e-2)


def test_loading_folds_norms(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_model(tiny_checkpoint, device="cpu")
    monkeypatch.setattr("voxcli.model.weights.folds_norms", lambda device, dtype: True)
    folded = load_model(tiny_checkpoint, device="cpu")
    layer, plain_layer = folded.base_lm.layers[0], plain.base_lm.layers[0]
    assert layer.input_layernorm.weight is None and layer.post_attention_layernorm.weight is None
    assert torch.equal(
        layer.self_attn.qkv_proj.weight, plain_layer.self_attn.qkv_proj.weight * plain_layer.input_layernorm.weight
    )


def test_an_engine_gives_the_same_clips_with_folded_norms(tiny_checkpoint: Path) -> None:
    model = load_model(tiny_checkpoint, device="cpu")
    plain = run(Engine(model), mixed(model, 4))
    for module in model.modules():
        if isinstance(module, Layer):
            module.fold_norms()
    for name, clip in run(Engine(model), mixed(model, 4)).items():
        assert clip.patches == plain[name].patches
        torch.testing.assert_close(clip.latents, plain[name].latents, atol=1e-3, rtol=0)
