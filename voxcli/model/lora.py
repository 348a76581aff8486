"""A LoRA adapter of the reference package, merged into the weights while they are read: W + alpha / r * B A.

    lora_weights.safetensors (or lora_weights.ckpt)   `<linear>.lora_A` [r, in] and `<linear>.lora_B` [out, r]
    lora_config.json                                  {"base_model": ..., "lora_config": {"r": 32, "alpha": 16, ...}}

A merged adapter has no cost at run time. Sources of the layout: `LoRALinear` and `VoxCPM2Model.load_lora_weights` of
the reference package, and its fine-tuning script.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voxcli.errors import CheckpointError, ModelNotFound
from voxcli.files.read import read_regular
from voxcli.model.config import MAX_BYTES
from voxcli.model.weightfile import Read, Shapes

CONFIG_FILE = "lora_config.json"
WEIGHT_FILES = ("lora_weights.safetensors", "lora_weights.ckpt")


class _Values(BaseModel):
    """The fields of the reference's `LoRAConfig` that inference needs; the names of the weights give the rest."""

    model_config = ConfigDict(allow_inf_nan=False)

    r: Annotated[int, Field(gt=0)]
    alpha: float


@dataclass(frozen=True, eq=False)
class Lora:
    """An adapter in memory.

    pairs: the matrices (A [r, in], B [out, r]) by the name of the linear layer.
    scale: alpha / r.
    base:  the model that it was trained on, if lora_config.json has it.
    """

    folder: Path
    pairs: dict[str, tuple[torch.Tensor, torch.Tensor]]
    scale: float
    base: str | None

    def merged(self, read: Read, shapes: Shapes) -> Read:
        """Return a reader of a checkpoint's tensors that adds the adapter to those of `read`.

        shapes: of all tensors of the checkpoint. Raises CheckpointError if the adapter was trained on another model.
        """
        for name, (a, b) in self.pairs.items():
            adapted, shape = [b.shape[0], a.shape[1]], shapes.get(f"{name}.weight")
            if shape != adapted:
                found = f"this model's has shape {shape}" if shape else "this model has no such layer"
                trained = f" (trained on {self.base})" if self.base else ""
                raise CheckpointError(
                    f"{self.folder}: the LoRA belongs to another model{trained}: "
                    f"its {name} has shape {adapted}, {found}"
                )

        def read_merged(name: str, into: torch.Tensor | None = None) -> torch.Tensor:
            pair = self.pairs.get(name.removesuffix(".weight")) if name.endswith(".weight") else None
            if pair is None:
                return read(name, into)
            a, b = pair
            merged = read(name).float() + self.scale * (b.float() @ a.float())
            return merged if into is None else into.copy_(merged)

        return read_merged


def read_lora(folder: Path, read_file: Callable[[Path], tuple[Read, Shapes]]) -> Lora:
    """Read and check an adapter.

    read_file: opens a weight file and returns a reader of its tensors, and their shapes.

    Raises ModelNotFound if the folder does not exist, CheckpointError, naming the file or tensor, if one is missing,
    damaged or wrong.
    """
    if not os.path.isdir(folder):
        raise ModelNotFound(f"{folder}: the LoRA folder does not exist")
    values, base = _read_config(folder / CONFIG_FILE)
    path = next((folder / name for name in WEIGHT_FILES if os.path.isfile(folder / name)), None)
    if path is None:
        raise CheckpointError(f"{folder}: {WEIGHT_FILES[0]} (or {WEIGHT_FILES[1]}) is missing")
    read, shapes = read_file(path)
    halves: dict[str, dict[str, torch.Tensor]] = {}
    for stored, shape in shapes.items():
        name, _, leaf = stored.replace("_orig_mod.", "").rpartition(".")  # torch.compile inserts this into names
        if leaf not in ("lora_A", "lora_B"):
            raise CheckpointError(f"{path}: tensor {stored} is neither a lora_A nor a lora_B")
        rank = shape[0 if leaf == "lora_A" else -1] if len(shape) == 2 else None
        if rank != values.r:
            raise CheckpointError(f"{path}: tensor {stored} has shape {shape}, but {CONFIG_FILE} has rank {values.r}")
        halves.setdefault(name, {})[leaf] = read(stored)
    if not halves:
        raise CheckpointError(f"{path}: the file contains no LoRA tensors")
    for name, found in halves.items():
        if len(found) < 2:
            raise CheckpointError(f"{path}: {name} has only its {next(iter(found))}; the other matrix is missing")
    pairs = {name: (found["lora_A"], found["lora_B"]) for name, found in halves.items()}
    return Lora(folder, pairs, values.alpha / values.r, base)


def _read_config(path: Path) -> tuple[_Values, str | None]:
    try:
        data = json.loads(read_regular(path, MAX_BYTES).decode())
        if not isinstance(data, dict):
            raise CheckpointError(f"{path}: a LoRA's config must be a JSON object")
        base = data.get("base_model")
        return _Values.model_validate(data.get("lora_config", data)), base if isinstance(base, str) else None
    except FileNotFoundError:
        raise CheckpointError(f"{path.parent}: {path.name} is missing; it contains the scale of the LoRA") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise CheckpointError(f"{path}: {'.'.join(map(str, first['loc'])) or 'config'}: {first['msg']}") from None
    except (OSError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, not JSON, too many digits
        raise CheckpointError(f"{path}: not readable as JSON ({error})") from None
