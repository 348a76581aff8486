"""What a checkpoint folder must hold, looked at without torch and without reading a weight."""

from __future__ import annotations

import os
from pathlib import Path

from voxcli.errors import CheckpointError
from voxcli.model.config import ModelConfig, read_config

MODEL_FILES = ("model.safetensors", "pytorch_model.bin")
VAE_FILES = ("audiovae.safetensors", "audiovae.pth")
ADAPTER_FILES = ("lora_weights.safetensors", "lora_weights.ckpt")


def check_folder(folder: Path) -> ModelConfig:
    """Config, tokenizer and weight files are there and the architecture is right.

    Raises ModelNotFound or CheckpointError, naming the file.
    """
    config = read_config(folder)
    if not os.path.isfile(folder / "tokenizer.json"):
        raise CheckpointError(f"{folder}: tokenizer.json is missing")
    pick_file(folder, MODEL_FILES)
    pick_file(folder, VAE_FILES)
    return config


def pick_file(folder: Path, names: tuple[str, ...]) -> Path:
    """The first of `names` that is there; CheckpointError when none is."""
    for name in names:
        if os.path.isfile(folder / name):
            return folder / name
    if list(folder.glob("model-*-of-*.safetensors")):
        raise CheckpointError(f"{folder}: the weights are split into shards; VoxCPM2 comes as one {names[0]}")
    raise CheckpointError(f"{folder}: {names[0]} (or {names[1]}) is missing")
