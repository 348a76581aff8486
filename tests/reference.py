"""The reference implementation (PyPI `voxcpm` 2.0.3) for comparisons.

Only its model is used. The package's __init__ modules import a web demo, so they are replaced with empty packages.
librosa, which the model imports to read files, is replaced with a few lines.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest


def import_reference() -> Any:
    """Return the module `voxcpm.model.voxcpm2`; skips the calling test if the package is not installed."""
    if "voxcpm.model.voxcpm2" in sys.modules:
        return sys.modules["voxcpm.model.voxcpm2"]
    spec = importlib.util.find_spec("voxcpm")
    if spec is None:
        pytest.skip("the reference package is missing: pip install --no-deps voxcpm==2.0.3")
    for needed in ("transformers", "einops"):
        pytest.importorskip(needed)
    import transformers  # noqa: F401  (before the replacements, because it looks for optional packages)

    root = next(iter(spec.submodule_search_locations or []))
    _stand_in("librosa", load=_load_audio)
    _stand_in("voxcpm", __path__=[root])
    _stand_in("voxcpm.model", __path__=[str(Path(root) / "model")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of third-party code
        from voxcpm.model import voxcpm2

    return voxcpm2


def _stand_in(name: str, **attributes: Any) -> None:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package="__path__" in attributes)
    for key, value in attributes.items():
        setattr(module, key, value)
    sys.modules[name] = module


def _load_audio(path: str, sr: int, mono: bool) -> tuple[Any, int]:
    import soundfile
    import soxr

    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    samples = samples.mean(1)
    return (samples if rate == sr else soxr.resample(samples, rate, sr)), sr


def load_reference(folder: Path, lora: Path | None = None) -> Any:
    """Load a checkpoint folder with the reference package, optionally with a LoRA: float32, CPU, not compiled."""
    import json

    module = import_reference()
    adapted = {}
    if lora is not None:
        config = json.loads((lora / "lora_config.json").read_text())["lora_config"]
        adapted["lora_config"] = module.LoRAConfig(**config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = module.VoxCPM2Model.from_local(str(folder), optimize=False, device="cpu", **adapted)
    if lora is not None:
        loaded, skipped = model.load_lora_weights(str(lora))
        assert loaded and not skipped, "the reference must load every tensor of the adapter"
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32", "comparisons need float32"
    return model
