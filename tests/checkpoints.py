"""Tiny random checkpoints in VoxCPM2's format, written under the reference's tensor names.

They have all parts of a real one: kv_channels differs from hidden / heads, and the tokenizer merges words and Han
pairs. The stop head fires at random after some patches, so the clips of a checkpoint have different lengths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

SPECIAL = {0: "<unk>", 1: "<s>", 2: "</s>", 101: "<|audio_start|>", 102: "<|audio_end|>"}
SPECIAL |= {103: "<|ref_audio_start|>", 104: "<|ref_audio_end|>"}
HAN = "你好世界我们是大学生"
MERGES = ["你 好", "世 界", "大 学", "大学 生", "▁ h", "▁h e", "l l", "▁he ll", "▁hell o", "▁ 你好"]


def tiny_config(**changes: Any) -> dict[str, Any]:
    """Return config.json as a dict; `changes` replace top-level entries or, with a dotted name, inner ones."""
    config: dict[str, Any] = {
        "architecture": "voxcpm2",
        "lm_config": {
            "bos_token_id": 1,
            "eos_token_id": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "max_position_embeddings": 512,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000,
            "kv_channels": 16,
            "rope_scaling": {
                "type": "longrope",
                "long_factor": [1.0 + 0.1 * i for i in range(8)],
                "short_factor": [1.0] * 8,
                "original_max_position_embeddings": 256,
            },
            "vocab_size": 400,
            "use_mup": False,
            "scale_emb": 12,
            "dim_model_base": 256,
            "scale_depth": 1.4,
        },
        "patch_size": 2,
        "feat_dim": 8,
        "scalar_quantization_latent_dim": 8,
        "scalar_quantization_scale": 9,
        "residual_lm_num_layers": 1,
        "residual_lm_no_rope": True,
        "encoder_config": {"hidden_dim": 16, "ffn_dim": 32, "num_heads": 2, "num_layers": 2, "kv_channels": 16},
        "dit_config": {
            "hidden_dim": 24,
            "ffn_dim": 32,
            "num_heads": 4,
            "num_layers": 2,
            "kv_channels": 16,
            "cfm_config": {"sigma_min": 1e-6, "solver": "euler", "t_scheduler": "log-norm", "inference_cfg_rate": 2.0},
        },
        "audio_vae_config": {
            "encoder_dim": 4,
            "encoder_rates": [2, 5, 8, 8],
            "latent_dim": 8,
            "decoder_dim": 32,
            "decoder_rates": [8, 5, 4, 3, 2],
            "depthwise": True,
            "sample_rate": 16000,
            "out_sample_rate": 24000,
            "sr_bin_boundaries": [20000, 30000, 40000],
            "cond_type": "scale_bias",
        },
        "max_length": 256,
        "device": "cpu",
        "dtype": "float32",
    }
    return change(config, changes)


def change(config: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Change `config` in place, as described for `tiny_config`, and return it."""
    for name, value in changes.items():
        *outer, last = name.split(".")
        section = config
        for part in outer:
            section = section[part]
        section[last] = value
    return config


def write_checkpoint(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Write config, tokenizer and both weight files; equal arguments give equal files."""
    config = tiny_config(**changes)
    write_weights(folder, config, seed)
    write_tokenizer(folder, config["lm_config"]["vocab_size"])
    return folder


def write_weights(folder: Path, config: dict[str, Any], seed: int, dtype: torch.dtype = torch.float32) -> None:
    """Write config.json and both weight files. dtype: of the language model; the audio VAE is in float32."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    generator = torch.Generator().manual_seed(seed)
    save_file(_language_tensors(config, generator, dtype), folder / "model.safetensors")
    save_file(_vae_tensors(config["audio_vae_config"], generator), folder / "audiovae.safetensors")


def write_tokenizer(folder: Path, vocab_size: int, han: Sequence[str] = HAN, merges: Sequence[str] = MERGES) -> None:
    """Write a BPE tokenizer with `vocab_size` ids: special tokens, ASCII, Han characters, merged tokens, bytes."""
    vocab = {name: i for i, name in SPECIAL.items()} | {"▁": 3}
    vocab |= {chr(code): code - 29 for code in range(33, 127)}  # ids 4 .. 97
    first = 105
    for token in [*han, *(merge.replace(" ", "") for merge in merges)]:
        if token not in vocab:
            vocab[token] = first
            first += 1
    assert first <= vocab_size - 256, f"{first} ids and 256 bytes exceed {vocab_size}"
    vocab |= {f"<0x{byte:02X}>": vocab_size - 256 + byte for byte in range(256)}
    for i in set(range(vocab_size)) - set(vocab.values()):
        vocab[f"<|reserved_{i}|>"] = i

    def added(i: int, content: str) -> dict[str, Any]:
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        return {"id": i, "content": content, **flags, "special": True}

    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(i, name) for i, name in sorted(SPECIAL.items())],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": list(merges),
        },
    }
    settings = {
        "tokenizer_class": "LlamaTokenizerFast",
        "add_bos_token": False,
        "add_eos_token": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
        "legacy": True,
    }
    (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


class _Draw:
    """Draws random tensors by name. Matrices are scaled so that signals keep their magnitude from layer to layer."""

    def __init__(self, generator: torch.Generator, dtype: torch.dtype = torch.float32):
        self.generator, self.dtype = generator, dtype
        self.tensors: dict[str, torch.Tensor] = {}

    def normal(self, name: str, *shape: int, std: float, mean: float = 0.0) -> None:
        drawn = torch.randn(shape, generator=self.generator)
        self.tensors[name] = drawn.mul_(std).add_(mean).to(self.dtype)

    def linear(self, name: str, rows: int, columns: int, bias: bool = True) -> None:
        self.normal(f"{name}.weight", rows, columns, std=1 / math.sqrt(columns))
        if bias:
            self.normal(f"{name}.bias", rows, std=0.1)

    def transformer(self, name: str, hidden: int, ffn: int, heads: int, kv_heads: int, dim: int, layers: int) -> None:
        for i in range(layers):
            layer = f"{name}.layers.{i}"
            self.normal(f"{layer}.input_layernorm.weight", hidden, std=0.1, mean=1)
            self.normal(f"{layer}.post_attention_layernorm.weight", hidden, std=0.1, mean=1)
            self.linear(f"{layer}.self_attn.q_proj", heads * dim, hidden, bias=False)
            self.linear(f"{layer}.self_attn.k_proj", kv_heads * dim, hidden, bias=False)
            self.linear(f"{layer}.self_attn.v_proj", kv_heads * dim, hidden, bias=False)
            self.linear(f"{layer}.self_attn.o_proj", hidden, heads * dim, bias=False)
            self.linear(f"{layer}.mlp.gate_proj", ffn, hidden, bias=False)
            self.linear(f"{layer}.mlp.up_proj", ffn, hidden, bias=False)
            self.linear(f"{layer}.mlp.down_proj", hidden, ffn, bias=False)
        self.normal(f"{name}.norm.weight", hidden, std=0.1, mean=1)

    def conv(self, name: str, *shape: int, bias: int) -> None:
        self.normal(f"{name}.weight_v", *shape, std=1.0)
        self.normal(f"{name}.weight_g", shape[0], 1, 1, std=0.05, mean=0.5)  # keeps the final tanh out of saturation
        self.normal(f"{name}.bias", bias, std=0.05)

    def residual(self, name: str, channels: int, depthwise: bool) -> None:
        self.normal(f"{name}.block.0.alpha", 1, channels, 1, std=0.1, mean=1)
        self.conv(f"{name}.block.1", channels, 1 if depthwise else channels, 7, bias=channels)
        self.normal(f"{name}.block.2.alpha", 1, channels, 1, std=0.1, mean=1)
        self.conv(f"{name}.block.3", channels, channels, 1, bias=channels)


def _language_tensors(
    config: dict[str, Any], generator: torch.Generator, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    draw = _Draw(generator, dtype)
    lm, enc, dit = config["lm_config"], config["encoder_config"], config["dit_config"]
    hidden, kv, feat = lm["hidden_size"], lm["num_key_value_heads"], config["feat_dim"]
    shape = (hidden, lm["intermediate_size"], lm["num_attention_heads"], kv, lm["kv_channels"])
    draw.normal("base_lm.embed_tokens.weight", lm["vocab_size"], hidden, std=1.0)
    draw.transformer("base_lm", *shape, lm["num_hidden_layers"])
    draw.transformer("residual_lm", *shape, config["residual_lm_num_layers"])
    wide = enc["hidden_dim"]
    draw.normal("feat_encoder.special_token", 1, 1, 1, wide, std=1.0)
    draw.linear("feat_encoder.in_proj", wide, feat)
    draw.transformer(
        "feat_encoder.encoder", wide, enc["ffn_dim"], enc["num_heads"], kv, enc["kv_channels"], enc["num_layers"]
    )
    wide, net = dit["hidden_dim"], "feat_decoder.estimator"
    for name in ("in_proj", "cond_proj"):
        draw.linear(f"{net}.{name}", wide, feat)
    draw.linear(f"{net}.out_proj", feat, wide)
    draw.tensors[f"{net}.out_proj.weight"] *= 0.5  # small velocities do not amplify rounding errors over the steps
    for name in ("time_mlp", "delta_time_mlp"):
        draw.linear(f"{net}.{name}.linear_1", wide, wide)
        draw.linear(f"{net}.{name}.linear_2", wide, wide)
    draw.transformer(
        f"{net}.decoder", wide, dit["ffn_dim"], dit["num_heads"], kv, dit["kv_channels"], dit["num_layers"]
    )
    latent = config["scalar_quantization_latent_dim"]
    draw.linear("fsq_layer.in_proj", latent, hidden)
    draw.linear("fsq_layer.out_proj", hidden, latent)
    draw.linear("enc_to_lm_proj", hidden, enc["hidden_dim"])
    draw.linear("lm_to_dit_proj", wide, hidden)
    draw.linear("res_to_dit_proj", wide, hidden)
    draw.linear("fusion_concat_proj", hidden, 2 * hidden)
    draw.linear("stop_proj", hidden, hidden)
    # A large positive bias makes most features of the stop head positive. With a lower mean weight for "stop" than for
    # "continue" stops are rare, and depend on the hidden state only.
    draw.tensors["stop_proj.bias"] += 2
    draw.linear("stop_head", 2, hidden, bias=False)
    draw.tensors["stop_head.weight"] *= 2
    draw.tensors["stop_head.weight"] -= draw.tensors["stop_head.weight"].mean(1, keepdim=True)
    draw.tensors["stop_head.weight"][1] -= 0.01
    return draw.tensors


def _vae_tensors(vae: dict[str, Any], generator: torch.Generator) -> dict[str, torch.Tensor]:
    draw = _Draw(generator)
    width, latent, depthwise = vae["encoder_dim"], vae["latent_dim"], vae["depthwise"]
    draw.conv("encoder.block.0", width, 1, 7, bias=width)
    for i, stride in enumerate(vae["encoder_rates"]):
        name = f"encoder.block.{i + 1}.block"
        for unit in range(3):
            draw.residual(f"{name}.{unit}", width, depthwise)
        draw.normal(f"{name}.3.alpha", 1, width, 1, std=0.1, mean=1)
        draw.conv(f"{name}.4", 2 * width, width, 2 * stride, bias=2 * width)
        width *= 2
    draw.conv("encoder.fc_mu", latent, width, 3, bias=latent)
    draw.conv("encoder.fc_logvar", latent, width, 3, bias=latent)
    width = vae["decoder_dim"]
    draw.conv("decoder.model.0", latent, 1, 7, bias=latent)
    draw.conv("decoder.model.1", width, latent, 1, bias=width)
    buckets = len(vae["sr_bin_boundaries"]) + 1
    for i, stride in enumerate(vae["decoder_rates"]):
        name, half = f"decoder.model.{i + 2}.block", width // 2
        draw.normal(f"{name}.0.alpha", 1, width, 1, std=0.1, mean=1)
        draw.conv(f"{name}.1", width, half, 2 * stride, bias=half)
        for unit in range(3):
            draw.residual(f"{name}.{unit + 2}", half, depthwise)
        draw.normal(f"decoder.sr_cond_model.{i + 2}.scale_embed.weight", buckets, width, std=0.1, mean=1)
        draw.normal(f"decoder.sr_cond_model.{i + 2}.bias_embed.weight", buckets, width, std=0.1)
        width = half
    last = len(vae["decoder_rates"]) + 2
    draw.normal(f"decoder.model.{last}.alpha", 1, width, 1, std=0.1, mean=1)
    draw.conv(f"decoder.model.{last + 1}", 1, width, 7, bias=1)
    draw.tensors[f"decoder.model.{last + 1}.weight_g"] *= 10  # about the level of speech
    draw.tensors[f"decoder.model.{last + 1}.bias"] *= 0
    draw.tensors["decoder.sr_bin_boundaries"] = torch.tensor(vae["sr_bin_boundaries"], dtype=torch.int32)
    return draw.tensors


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def brief_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose stop head fires at the first allowed patch, so that clips are short."""
    folder = write_checkpoint(tmp_path_factory.mktemp("brief") / "model")
    tensors = load_file(folder / "model.safetensors")
    tensors["stop_head.weight"] = torch.tensor([[-1.0], [1.0]]).expand(2, 32).contiguous()
    save_file(tensors, folder / "model.safetensors")
    return folder
