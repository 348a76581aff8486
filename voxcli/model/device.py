"""The device that a model runs on, and its dtype."""

from __future__ import annotations

import torch

from voxcli.errors import DeviceError, quoted

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Minimum number of parameters with which a model on a CPU with AMX uses bfloat16. Smaller models are fast enough in
# float32, in which a line gives the same bytes in any batch.
LARGE = 1_000_000_000


def resolve_device(name: str) -> torch.device:
    """Return the device for auto, cpu, cuda, cuda:N or mps. Raises DeviceError if it is unknown or unavailable."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", 0)
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DeviceError(f"device {quoted(name)} is not one of auto, cpu, cuda, cuda:N, mps") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise DeviceError("no CUDA device is available; use --device cpu, or see `voxcpm2 doctor`")
        if (device.index or 0) >= torch.cuda.device_count():
            raise DeviceError(f"{name}: this machine has {torch.cuda.device_count()} CUDA device(s)")
        return torch.device("cuda", device.index or 0)
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError("no MPS device is available; use --device cpu")
    if device.type not in ("cpu", "mps"):
        raise DeviceError(f"device {quoted(name)} is not one of auto, cpu, cuda, cuda:N, mps")
    return device


def resolve_dtype(name: str, device: torch.device, parameters: int = 0) -> torch.dtype:
    """Return the dtype for auto, float32, bfloat16 or float16. Raises DeviceError for any other name.

    auto is bfloat16 on CUDA, and on a CPU with AMX for a model with at least LARGE parameters. Otherwise it is float32:
    16-bit types are slow or imprecise there.
    """
    if name == "auto":
        large_on_amx = device.type == "cpu" and parameters >= LARGE and multiplies_bfloat16()
        return torch.bfloat16 if device.type == "cuda" or large_on_amx else torch.float32
    if name not in DTYPES:
        raise DeviceError(f"dtype {quoted(name)} is not one of auto, {', '.join(DTYPES)}")
    return DTYPES[name]


def multiplies_bfloat16() -> bool:
    """Return whether the CPU has a matrix unit for bfloat16 (AMX) and torch can use it.

    With AMX, products of VoxCPM2's shapes in bfloat16 took 0.3 to 0.4 times as long as in float32 (Intel Xeon, torch
    2.13; a single row, which is bound by memory, took as long). With AVX-512's bfloat16 instructions alone they took
    0.8 to 1.6 times as long.
    """
    supported, allowed = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_init_amx"))
    return bool(torch.backends.mkldnn.is_available() and supported and supported() and allowed and allowed())
