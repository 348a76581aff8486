"""Loads a checkpoint folder into a model.

The names and shapes of all tensors are compared with those that config.json requires before memory is allocated. While
reading, query, key and value are stacked into one matrix, gate and up into another, and weight norm is folded into the
weights. muP's scales are then folded into the matrices. Tensors are read one at a time, so the peak memory is little
more than the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from voxcli.errors import CheckpointError
from voxcli.model.config import ModelConfig
from voxcli.model.device import resolve_device, resolve_dtype
from voxcli.model.folder import MODEL_FILES, VAE_FILES, check_folder, pick_file
from voxcli.model.lora import read_lora
from voxcli.model.size import check_room, count_parameters, empty_model, weight_bytes
from voxcli.model.tokenizer import Tokenizer
from voxcli.model.transformer import Layer, QKVLinear, Rope
from voxcli.model.vaeconv import CausalConv
from voxcli.model.vaedecoder import CausalTransposedConv
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weightfile import Read, Shapes, open_weights

VAE = "audio_vae."  # prefix of the names of the VAE's tensors, which are in a separate file

# Tensors of the VAE that inference does not need: a training head, and a table that config.json repeats.
UNUSED = ("encoder.fc_logvar.", "decoder.sr_bin_boundaries")


def load_model(folder: Path | str, *, device: str = "auto", dtype: str = "auto", lora: Path | None = None) -> VoxCPM2:
    """Load a checkpoint for inference. The audio VAE is always in float32.

    device: auto, cpu, cuda, cuda:N or mps.
    dtype:  auto, float32, bfloat16 or float16.
    lora:   the folder of an adapter to merge into the weights.

    Raises ModelNotFound, CheckpointError (naming the file or tensor) or DeviceError. Everything that is quick to check
    is checked before weights are read.
    """
    folder = Path(folder)
    config = check_folder(folder)
    to_device = resolve_device(device)
    tokenizer = Tokenizer.from_folder(folder, config.lm_config.vocab_size)
    model = empty_model(config)
    to_dtype = resolve_dtype(dtype, to_device, count_parameters(model))
    check_room(weight_bytes(model, to_dtype), to_device, to_dtype, folder)
    with ExitStack() as stack:
        parts = _open_parts(folder, model, stack, lora)
        state: dict[str, torch.Tensor] = {}
        shapes = {name: value.shape for name, value in model.state_dict().items()}
        for prefix, (read, recipe) in parts.items():
            for name, sources in recipe.items():
                tensor = torch.empty(
                    shapes[prefix + name], device=to_device, dtype=torch.float32 if prefix else to_dtype
                )
                sources.fill(tensor, read)
                state[prefix + name] = tensor
    _fold_mup(state, config)
    model.load_state_dict(state, strict=True, assign=True)
    model.tokenizer = tokenizer
    return finish(model, to_device)


def _open_parts(
    folder: Path, model: VoxCPM2, stack: ExitStack, lora: Path | None
) -> dict[str, tuple[Read, dict[str, _Sources]]]:
    """Return a reader and the sources of each tensor, by prefix: "" for the language model, VAE for the audio VAE."""
    expected: dict[str, dict[str, torch.Tensor]] = {"": {}, VAE: {}}
    for name, value in model.state_dict().items():
        prefix = VAE if name.startswith(VAE) else ""
        expected[prefix][name.removeprefix(prefix)] = value
    adapter = read_lora(lora, lambda path: open_weights(path, stack)) if lora is not None else None
    parts = {}
    for prefix, files in (("", MODEL_FILES), (VAE, VAE_FILES)):
        path = pick_file(folder, files)
        read, shapes = open_weights(path, stack)
        owner = {name: model.get_submodule((prefix + name).rpartition(".")[0]) for name in expected[prefix]}
        recipe = {name: _sources(name, module) for name, module in owner.items()}
        _compare(path, recipe, shapes)
        if adapter is not None and not prefix:
            read = adapter.merged(read, shapes)
        parts[prefix] = read, recipe
    return parts


def encoder_identity(folder: Path) -> str:
    """Return a digest of the voice encoder. Models with the same digest can use each other's encoded voices.

    Reads the weights of the encoder. Raises ModelNotFound or CheckpointError.
    """
    config = check_folder(folder)
    digest = hashlib.sha256(f"{config.patch_size} {config.audio_vae_config.sample_rate}\n".encode())
    with ExitStack() as stack:
        read, shapes = open_weights(pick_file(folder, VAE_FILES), stack)
        for name in sorted(shapes):
            if name.startswith("encoder.") and not name.startswith(UNUSED):
                digest.update(f"{name} {shapes[name]}\n".encode())
                digest.update(read(name).float().contiguous().numpy().data)
    return digest.hexdigest()


def finish(model: VoxCPM2, device: torch.device) -> VoxCPM2:
    """Finish a model whose weights are loaded: build the position tables, fold norms, prepare it for inference."""
    for module in model.modules():
        if isinstance(module, Rope):
            module.build(device)
        if isinstance(module, Layer) and folds_norms(device, model.dtype):
            module.fold_norms()
    return model.eval().requires_grad_(False)


def folds_norms(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether the weights of norms are folded into matrices: on CUDA in bfloat16.

    Not in float16, because products of rows that are not normalized need the range of float32, and not in float32,
    which is for results equal to the reference's.
    """
    return device.type == "cuda" and dtype == torch.bfloat16


@dataclass(frozen=True)
class _Sources:
    """The tensors of the file that a tensor of the model is made from.

    fold: computes it from them; None: they are stacked along the first axis.
    """

    names: list[str]
    shapes: list[list[int]]
    fold: Callable[..., torch.Tensor] | None = None

    def fill(self, tensor: torch.Tensor, read: Read) -> None:
        if self.fold is not None:
            tensor.copy_(self.fold(*(read(name).float() for name in self.names)))
            return
        for name, rows in zip(self.names, tensor.split([shape[0] for shape in self.shapes]), strict=True):
            read(name, rows)


def _sources(name: str, module: torch.nn.Module) -> _Sources:
    owner, _, leaf = name.rpartition(".")
    value = getattr(module, leaf)
    shape = list(value.shape)
    if isinstance(module, QKVLinear):
        return _stack(owner, ("q_proj", "k_proj", "v_proj"), module.rows, shape[1])
    if owner.endswith("gate_up_proj"):
        return _stack(owner, ("gate_proj", "up_proj"), [shape[0] // 2] * 2, shape[1])
    if leaf == "weight" and isinstance(module, CausalConv):
        return _weight_normed(owner, shape, lambda kernel: kernel)
    if leaf == "weight" and isinstance(module, CausalTransposedConv):
        kernel = [shape[1] // 2, shape[0] // module.stride, 2 * module.stride]
        return _weight_normed(owner, kernel, CausalTransposedConv.matrix)
    return _Sources([name], [shape])


def _weight_normed(owner: str, shape: list[int], build: Callable[[torch.Tensor], torch.Tensor]) -> _Sources:
    names = [f"{owner}.weight_g", f"{owner}.weight_v"]
    return _Sources(names, [[shape[0], 1, 1], shape], lambda g, v: build(torch._weight_norm(v, g, 0)))


def _stack(owner: str, leaves: tuple[str, ...], rows: list[int], columns: int) -> _Sources:
    parent = owner.rpartition(".")[0]
    return _Sources([f"{parent}.{leaf}.weight" for leaf in leaves], [[r, columns] for r in rows])


def _compare(path: Path, recipe: dict[str, _Sources], shapes: Shapes) -> None:
    expected = {name: shape for s in recipe.values() for name, shape in zip(s.names, s.shapes, strict=True)}
    missing = sorted(expected.keys() - shapes.keys())
    if missing:
        raise CheckpointError(f"{path}: tensor {missing[0]} is missing{_more(missing)}")
    surplus = sorted(name for name in shapes.keys() - expected.keys() if not name.startswith(UNUSED))
    if surplus:
        raise CheckpointError(f"{path}: tensor {surplus[0]} is not part of the model{_more(surplus)}")
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise CheckpointError(f"{path}: tensor {name} has shape {shapes[name]}, but config.json requires {shape}")


def _more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _fold_mup(state: dict[str, torch.Tensor], config: ModelConfig) -> None:
    """Fold muP's scales into the embedding and into the last matrix of each residual branch."""
    if not config.lm_config.use_mup:
        return
    state["base_lm.embed_tokens.weight"].mul_(config.lm_config.scale_emb)
    shapes = {
        "base_lm.": config.base_lm,
        "residual_lm.": config.residual_lm,
        "feat_encoder.": config.locenc,
        "feat_decoder.": config.locdit,
    }
    for name, value in state.items():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            value.mul_(next(shape.depth_scale for prefix, shape in shapes.items() if name.startswith(prefix)))
