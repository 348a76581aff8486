"""vLLM's FlashAttention without the rest of vLLM.

`import vllm` takes seven seconds, because it imports torch's compiler, its distributed packages and vLLM's
configuration. The module that wraps the kernels needs only torch and the extension in the same folder, so it is
imported from that folder under another name. If that fails, because another version of vLLM has a different layout,
vLLM is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from voxcli.errors import in_one_line

PACKAGE = "_voxcli_vllm_flash_attn"
MODULE = "flash_attn_interface"
CAPABILITIES: dict[int, Callable[[int], bool]] = {  # FlashAttention 3 needs Hopper; 2 runs from Ampere on
    3: lambda major: major == 9,
    2: lambda major: major >= 8,
}


def load_flash_attention() -> tuple[Any, int]:
    """Return the module with `flash_attn_varlen_func` and `get_scheduler_metadata`, and the version for this GPU.

    Raises ImportError with the reason if vLLM is missing or has no kernel for this GPU or this torch.
    """
    try:
        interface = _alone() if "vllm" not in sys.modules else None
        if interface is None:
            interface = importlib.import_module(f"vllm.vllm_flash_attn.{MODULE}")
    except Exception as error:  # a vLLM built for another torch can raise anything
        raise ImportError(in_one_line(error)) from error
    major, _ = torch.cuda.get_device_capability()
    reasons = []
    for version, supports in CAPABILITIES.items():
        if not getattr(interface, f"FA{version}_AVAILABLE", False):
            reason = str(getattr(interface, f"FA{version}_UNAVAILABLE_REASON", None) or "not built")
            reasons.append(f"FlashAttention {version}: {' '.join(reason.split())}")
        elif not supports(major):
            reasons.append(f"FlashAttention {version} does not support compute capability {major}.x")
        else:
            return interface, version
    raise ImportError("; ".join(reasons))


def _alone() -> ModuleType | None:
    """Import the module without its package; None if that is impossible with the installed version."""
    spec = importlib.util.find_spec("vllm")  # does not execute vLLM
    for parent in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(parent) / "vllm_flash_attn"
        if not os.path.isfile(folder / f"{MODULE}.py"):
            continue
        package = ModuleType(PACKAGE)
        package.__path__ = [str(folder)]
        sys.modules[PACKAGE] = package
        try:
            interface = importlib.import_module(f"{PACKAGE}.{MODULE}")
        except Exception:  # whatever it is, importing vLLM itself is tried next and reports it
            interface = None
        if any(hasattr(interface, f"FA{version}_AVAILABLE") for version in CAPABILITIES):
            return interface
        for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
    return None
