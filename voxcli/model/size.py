"""The memory that a model needs."""

from __future__ import annotations

from pathlib import Path

import torch

from voxcli.errors import DeviceError
from voxcli.memory import total_memory
from voxcli.model.config import ModelConfig
from voxcli.model.voxcpm2 import VoxCPM2

GIB = 2**30
# Peak memory of a command that speaks one line, without the weights: Python, torch, tables and the work on one clip.
OVERHEAD = GIB // 2


def empty_model(config: ModelConfig) -> VoxCPM2:
    """Return a model without memory for its weights, on the meta device."""
    with torch.device("meta"):
        return VoxCPM2(config)


def count_parameters(model: VoxCPM2) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def weight_bytes(model: VoxCPM2, dtype: torch.dtype) -> int:
    """Return the bytes of all weights: the audio VAE in float32, everything else in `dtype`."""
    vae = sum(parameter.numel() for parameter in model.audio_vae.parameters())
    return (count_parameters(model) - vae) * dtype.itemsize + vae * 4


def check_room(weights: int, device: torch.device, dtype: torch.dtype, folder: Path) -> None:
    """Raise DeviceError if the machine's total memory is smaller than the weights of a model on the CPU.

    Without this check the system would kill the process without an error message. weights: bytes.
    """
    total = total_memory()
    if device.type != "cpu" or total is None or weights <= total:
        return
    smaller = "; --dtype bfloat16 takes half as much" if dtype == torch.float32 else ""
    raise DeviceError(
        f"{folder} does not fit into memory: its weights take {weights / GIB:.1f} GiB in "
        f"{str(dtype).removeprefix('torch.')}, this machine has {total / GIB:.1f}{smaller}"
    )
