"""A model of random weights, made on the device in seconds: speed does not depend on their values.

The stop head never fires and the tokenizer knows bytes only: good for measurements, not for speech.
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

# The sizes of openbmb/VoxCPM2 (2.3 billion parameters); its rope factors do not matter for speed.
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
    """A model of these sizes; the audio VAE in float32, as in a loaded one."""
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
    """Signals keep their size from layer to layer: rows of length one, scales of one, biases of zero."""
    if name == "bias":
        return value.zero_()
    if value.ndim < 2 or name == "alpha":
        return value.fill_(1.0)
    return value.normal_(0.0, 1 / math.sqrt(value[0].numel()))


def byte_tokenizer() -> Tokenizer:
    """One token a byte, with ids above the audio marks."""
    vocab = {"<unk>": 0} | {f"<0x{byte:02X}>": 128 + byte for byte in range(256)}
    return Tokenizer(tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True)))
