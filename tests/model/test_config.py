from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints import tiny_config
from voxcli.errors import CheckpointError, ModelNotFound
from voxcli.model.config import ModelConfig, read_config


def write(folder: Path, config: Any) -> Path:
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


def test_the_four_transformers_have_their_own_shapes(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, tiny_config()))
    assert (config.base_lm.num_layers, config.base_lm.hidden_size, config.base_lm.rope) == (2, 32, True)
    assert (config.residual_lm.num_layers, config.residual_lm.hidden_size, config.residual_lm.rope) == (1, 32, False)
    assert (config.locenc.hidden_size, config.locenc.intermediate_size, config.locenc.num_heads) == (16, 32, 2)
    assert (config.locdit.hidden_size, config.locdit.num_layers) == (24, 2)
    assert {t.num_kv_heads for t in (config.base_lm, config.residual_lm, config.locenc, config.locdit)} == {2}
    assert {t.head_dim for t in (config.base_lm, config.locenc, config.locdit)} == {16}, (
        "kv_channels, not hidden / heads"
    )
    assert config.context == 256


def test_mup_scales_by_the_depth_of_each_part() -> None:
    config = ModelConfig.model_validate(tiny_config(**{"lm_config.use_mup": True}))
    assert config.base_lm.depth_scale == pytest.approx(1.4 / 2**0.5)
    assert config.residual_lm.depth_scale == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "voxcpm"}, "architecture is 'voxcpm'"),
        ({"lm_config.hidden_size": 10**12}, "lm_config.hidden_size"),
        ({"lm_config.num_hidden_layers": -1}, "lm_config.num_hidden_layers"),
        ({"lm_config.vocab_size": 50}, "lm_config.vocab_size"),
        ({"patch_size": "many"}, "patch_size"),
        ({"feat_dim": 9}, "feat_dim 9"),
        ({"lm_config.kv_channels": 15}, "heads of 15"),
        ({"audio_vae_config.decoder_dim": 33}, "can't be halved 5 times"),
        ({"audio_vae_config.use_noise_block": True}, "use_noise_block"),
        ({"audio_vae_config.cond_type": "concat"}, "cond_type"),
        ({"audio_vae_config.encoder_rates": []}, "encoder_rates"),
        ({"audio_vae_config.encoder_rates": [1024] * 4}, "encoder_rates: a latent is longer than a second"),
        ({"audio_vae_config.decoder_rates": [1000, 6, 5]}, "decoder_rates: a latent is longer than a second"),
        ({"max_length": 10_000_000}, "max_length"),
        ({"lm_config.rms_norm_eps": float("inf")}, "rms_norm_eps"),
        ({"scalar_quantization_scale": 10**30}, "scalar_quantization_scale"),
    ],
)
def test_an_invalid_field_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=message) as caught:
        read_config(write(tmp_path, tiny_config(**change)))
    assert "\n" not in str(caught.value)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="the checkpoint folder does not exist"):
        read_config(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        read_config(tmp_path)
    with pytest.raises(CheckpointError, match="not readable as JSON"):
        read_config(write(tmp_path, "{"))
    for hostile in ("[" * 100_000, '{"max_length": ' + "9" * 5000 + "}", "\ufeff{}"):
        with pytest.raises(CheckpointError, match="not readable as JSON"):
            read_config(write(tmp_path, hostile))
    with pytest.raises(CheckpointError, match="architecture is None"):
        read_config(write(tmp_path, "[1]"))
