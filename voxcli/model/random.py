"""A model with random weights, created on the device in seconds, for measurements: speed does not depend on the values.

The stop head never fires, and the tokenizer has one token per byte.
"""

from __future__ import annotations

import math

import tokenizers
import torch

from voxcli.model.config import ModelConfig
from voxcli.model.tokenizer import Tokenizer
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import finish

_PART = {"hidden_dim": 1024, "ffn_dim": 4096, "num_heads": 16, "num_layers": 12, "kv_channels": 128}

# The sizes of openbmb/VoxCPM2 (2.3 billion parameters). The rope factors differ; they do not affect speed.
VOXCPM2 = {
    "architecture": "voxcpm2",
    "lm_config": {
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "num_hidden_layers": 28,
        "kv_channels": 128,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000,
        "rope_scaling": {
            "type": "longrope",
            "long_factor": [1.0] * 64,
            "short_factor": [1.0] * 64,
            "original_max_position_embeddings": 32768,
        },
        "vocab_size": 73448,
        "use_mup": False,
    },
    "patch_size": 4,
    "feat_dim": 64,
    "residual_lm_num_layers": 8,
    "residual_lm_no_rope": True,
    "scalar_quantization_latent_dim": 512,
    "scalar_quantization_scale": 9,
    "encoder_config": _PART,
    "dit_config": _PART,
    "max_length": 8192,
}
SIZES = {"voxcpm2": VOXCPM2}


def random_model(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> VoxCPM2:
    """Return a model with random weights in `dtype`; the audio VAE is in float32, as in a loaded model."""
    with torch.device("meta"):
        model = VoxCPM2(config)
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            value = torch.empty(parameter.shape, device=device, dtype=dtype)
            setattr(module, name, torch.nn.Parameter(_fill(name, value), requires_grad=False))
    model.audio_vae.float()
    model.stop_head.weight.zero_()
    model.tokenizer = byte_tokenizer()
    return finish(model, device)


def _fill(name: str, value: torch.Tensor) -> torch.Tensor:
    """Fill a parameter so that signals keep their magnitude: rows of norm 1, scales of 1, biases of 0."""
    if name == "bias":
        return value.zero_()
    if value.ndim < 2 or name == "alpha":
        return value.fill_(1.0)
    return value.normal_(0.0, 1 / math.sqrt(value[0].numel()))


def byte_tokenizer() -> Tokenizer:
    """Return a tokenizer with one token per byte, with ids above those of the audio marks (101 to 104)."""
    vocab = {"<unk>": 0} | {f"<0x{byte:02X}>": 128 + byte for byte in range(256)}
    return Tokenizer(tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True)))
