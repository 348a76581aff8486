"""The files that a checkpoint folder must contain, checked without importing torch and without reading weights."""

from __future__ import annotations

import os
from pathlib import Path

from voxcli.errors import CheckpointError
from voxcli.model.config import ModelConfig, read_config

MODEL_FILES = ("model.safetensors", "pytorch_model.bin")
VAE_FILES = ("audiovae.safetensors", "audiovae.pth")
ADAPTER_FILES = ("lora_weights.safetensors", "lora_weights.ckpt")


def check_folder(folder: Path) -> ModelConfig:
    """Check that the config, tokenizer and weight files exist and return the config.

    Raises ModelNotFound if the folder does not exist, CheckpointError, naming the file, if a file is missing or
    unusable.
    """
    config = read_config(folder)
    if not os.path.isfile(folder / "tokenizer.json"):
        raise CheckpointError(f"{folder}: tokenizer.json is missing")
    pick_file(folder, MODEL_FILES)
    pick_file(folder, VAE_FILES)
    return config


def pick_file(folder: Path, names: tuple[str, ...]) -> Path:
    """Return the path of the first of two names that exists. Raises CheckpointError if neither does."""
    for name in names:
        if os.path.isfile(folder / name):
            return folder / name
    if list(folder.glob("model-*-of-*.safetensors")):
        raise CheckpointError(f"{folder}: the weights are split into shards; only a single {names[0]} is supported")
    raise CheckpointError(f"{folder}: {names[0]} (or {names[1]}) is missing")
