"""How much memory a model takes."""

from __future__ import annotations

from pathlib import Path

import torch

from voxcli.errors import DeviceError
from voxcli.memory import total_memory
from voxcli.model.config import ModelConfig
from voxcli.model.voxcpm2 import VoxCPM2

GIB = 2**30
# Beside the weights, at the peak of a command that speaks a line: Python, torch, tables and one clip's work.
OVERHEAD = GIB // 2


def empty_model(config: ModelConfig) -> VoxCPM2:
    """A model of these sizes without memory for its weights."""
    with torch.device("meta"):
        return VoxCPM2(config)


def count_parameters(model: VoxCPM2) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def weight_bytes(model: VoxCPM2, dtype: torch.dtype) -> int:
    """With everything in `dtype` but the audio VAE, which is always in float32."""
    vae = sum(parameter.numel() for parameter in model.audio_vae.parameters())
    return (count_parameters(model) - vae) * dtype.itemsize + vae * 4


def check_room(weights: int, device: torch.device, dtype: torch.dtype, folder: Path) -> None:
    """Raise DeviceError when a CPU has less memory in all than the weights alone take: the system would end the
    process without a word.
    """
    total = total_memory()
    if device.type != "cpu" or total is None or weights <= total:
        return
    smaller = "; --dtype bfloat16 takes half as much" if dtype == torch.float32 else ""
    raise DeviceError(
        f"{folder} does not fit into the memory here: its weights take {weights / GIB:.1f} GiB in "
        f"{str(dtype).removeprefix('torch.')}, there are {total / GIB:.1f}{smaller}"
    )
