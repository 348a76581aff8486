"""Random LoRA adapters in the file format of the reference's fine-tuning script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

LM_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj")
PROJECTIONS = ("enc_to_lm_proj", "lm_to_dit_proj", "res_to_dit_proj", "fusion_concat_proj")


def lora_tensors(checkpoint: Path, rank: int, seed: int = 0) -> dict[str, torch.Tensor]:
    """Make A and B for everything the reference adapts: attention of both LMs and of LocDiT, and the projections."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, weight in sorted(load_file(checkpoint / "model.safetensors").items()):
        owner = name.removesuffix(".weight")
        part, leaf = owner.partition(".")[0], owner.rpartition(".")[2]
        attention = part in ("base_lm", "residual_lm", "feat_decoder") and leaf in LM_TARGETS
        if name.endswith(".weight") and (attention or owner in PROJECTIONS):
            rows, columns = weight.shape
            tensors[f"{owner}.lora_A"] = torch.randn(rank, columns, generator=generator) / columns**0.5
            tensors[f"{owner}.lora_B"] = torch.randn(rows, rank, generator=generator) * 0.2
    return tensors


def write_lora(folder: Path, tensors: dict[str, torch.Tensor], rank: int, alpha: float, **config: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "lora_weights.safetensors")
    enabled = {"enable_lm": True, "enable_dit": True, "enable_proj": True}
    data = {"base_model": "openbmb/VoxCPM2", "lora_config": {**enabled, "r": rank, "alpha": alpha, **config}}
    (folder / "lora_config.json").write_text(json.dumps(data))
    return folder
