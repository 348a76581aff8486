"""Where a model runs, and in which numbers."""

from __future__ import annotations

import torch

from voxcli.errors import DeviceError, quoted

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Parameters from which on a CPU may take bfloat16. A smaller model is fast enough in float32, in which the same line
# gives the same bytes beside any others.
LARGE = 1_000_000_000


def resolve_device(name: str) -> torch.device:
    """auto | cpu | cuda[:n] | mps to a device that is there; DeviceError otherwise."""
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
            raise DeviceError("no CUDA device here; use --device cpu, or see `voxcpm2 doctor`")
        if (device.index or 0) >= torch.cuda.device_count():
            raise DeviceError(f"{name}: this machine has {torch.cuda.device_count()} CUDA device(s)")
        return torch.device("cuda", device.index or 0)
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError("no MPS device here; use --device cpu")
    if device.type not in ("cpu", "mps"):
        raise DeviceError(f"device {quoted(name)} is not one of auto, cpu, cuda, cuda:N, mps")
    return device


def resolve_dtype(name: str, device: torch.device, parameters: int = 0) -> torch.dtype:
    """auto | float32 | bfloat16 | float16; DeviceError otherwise.

    auto: bfloat16 on CUDA, and on a CPU with AMX for a model of LARGE or more parameters; else float32 (16 bit is slow
    or drifts).
    """
    if name == "auto":
        large_on_amx = device.type == "cpu" and parameters >= LARGE and multiplies_bfloat16()
        return torch.bfloat16 if device.type == "cuda" or large_on_amx else torch.float32
    if name not in DTYPES:
        raise DeviceError(f"dtype {quoted(name)} is not one of auto, {', '.join(DTYPES)}")
    return DTYPES[name]


def multiplies_bfloat16() -> bool:
    """Whether the CPU has a unit for products in bfloat16 (AMX) and torch may use it.

    Products of VoxCPM2's shapes took 0.3 to 0.4 of their time in float32 with AMX (Intel Xeon, torch 2.13; one row,
    bound by memory, the same), but 0.8 to 1.6 of it with the bfloat16 instructions of AVX-512 alone.
    """
    supported, allowed = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_init_amx"))
    return bool(torch.backends.mkldnn.is_available() and supported and supported() and allowed and allowed())
