"""From a checkpoint folder to a model in memory.

Names and shapes of every tensor are compared with what config.json asks for before anything is allocated. Pickled
files are read with `weights_only=True`, always. On the way in, query, key and value become one matrix, gate and up
another, weight norm is folded into weights, and muP's scales into the matrices they multiply.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from voxcli import faults
from voxcli.errors import CheckpointError, DeviceError, quoted
from voxcli.files.read import check_regular
from voxcli.model.config import ModelConfig
from voxcli.model.folder import MODEL_FILES, VAE_FILES, check_folder, pick_file
from voxcli.model.lora import read_lora
from voxcli.model.tokenizer import Tokenizer
from voxcli.model.transformer import Layer, QKVLinear, Rope
from voxcli.model.vae import CausalConv, CausalTransposedConv
from voxcli.model.voxcpm2 import VoxCPM2

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# In the files but of no use to synthesis: the VAE's training head, and a table that config.json repeats.
UNUSED = ("encoder.fc_logvar.", "decoder.sr_bin_boundaries")


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


def resolve_dtype(name: str, device: torch.device) -> torch.dtype:
    """auto | float32 | bfloat16 | float16; auto is bfloat16 on CUDA, else float32 (16 bit is slow or drifts)."""
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise DeviceError(f"dtype {quoted(name)} is not one of auto, {', '.join(DTYPES)}")
    return DTYPES[name]


def load_model(folder: Path | str, *, device: str = "auto", dtype: str = "auto", lora: Path | None = None) -> VoxCPM2:
    """Load a checkpoint for inference; the audio VAE stays in float32 whatever `dtype` is.

    lora: the folder of an adapter to merge into the weights.

    Raises ModelNotFound, CheckpointError (naming the file or tensor) or DeviceError.
    """
    folder = Path(folder)
    config = check_folder(folder)
    to_device = resolve_device(device)
    to_dtype = resolve_dtype(dtype, to_device)
    with torch.device("meta"):
        model = VoxCPM2(config)
    vae_names = {f"audio_vae.{name}" for name in model.audio_vae.state_dict()}
    parts = {
        "": (pick_file(folder, MODEL_FILES), {k: v for k, v in model.state_dict().items() if k not in vae_names}),
        "audio_vae.": (pick_file(folder, VAE_FILES), dict(model.audio_vae.state_dict())),
    }
    state: dict[str, torch.Tensor] = {}
    with ExitStack() as stack:
        adapter = read_lora(lora, lambda path: _open(path, stack)) if lora is not None else None
        for prefix, (path, wanted) in parts.items():
            read, shapes = _open(path, stack)
            recipe = {name: _sources(name, model.get_submodule(prefix + name.rpartition(".")[0])) for name in wanted}
            _compare(path, recipe, wanted, shapes)
            if adapter is not None and not prefix:
                read = adapter.merged(read, shapes)
            kind = torch.float32 if prefix else to_dtype
            for name, sources in recipe.items():
                tensors = [read(source) for source in sources.names]
                for source, tensor in zip(sources.names, tensors, strict=True):
                    if not tensor.is_floating_point():
                        raise CheckpointError(f"{path}: tensor {source} holds {tensor.dtype}, not weights")
                state[prefix + name] = sources.build(tensors).to(kind).to(to_device).contiguous()
    _fold_mup(state, config)
    model.load_state_dict(state, strict=True, assign=True)
    model.tokenizer = Tokenizer.from_folder(folder, config.lm_config.vocab_size)
    return finish(model, to_device)


def encoder_identity(folder: Path) -> str:
    """A digest of what turns a voice into patches: latents of one model fit another where it is the same."""
    config = check_folder(folder)
    digest = hashlib.sha256(f"{config.patch_size} {config.audio_vae_config.sample_rate}\n".encode())
    with ExitStack() as stack:
        read, shapes = _open(pick_file(folder, VAE_FILES), stack)
        for name in sorted(shapes):
            if name.startswith("encoder.") and not name.startswith(UNUSED):
                digest.update(f"{name} {shapes[name]}\n".encode())
                digest.update(read(name).float().contiguous().numpy().data)
    return digest.hexdigest()


def finish(model: VoxCPM2, device: torch.device) -> VoxCPM2:
    """What every way of making a model ends with: position tables built, ready for inference."""
    for module in model.modules():
        if isinstance(module, Rope):
            module.build(device)
        if isinstance(module, Layer) and folds_norms(device, model.dtype):
            module.fold_norms()
    return model.eval().requires_grad_(False)


def folds_norms(device: torch.device, dtype: torch.dtype) -> bool:
    """On a GPU in bfloat16: rows that are not normalized yet want float32's range, and float32 is for the reference's
    own numbers.
    """
    return device.type == "cuda" and dtype == torch.bfloat16


class _Sources:
    """Which tensors of the file make one of ours, and how."""

    def __init__(self, names: list[str], shapes: list[list[int]], build: Callable[[list[torch.Tensor]], torch.Tensor]):
        self.names, self.shapes, self.build = names, shapes, build


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
    return _Sources([name], [shape], lambda t: t[0])


def _weight_normed(owner: str, shape: list[int], build: Callable[[torch.Tensor], torch.Tensor]) -> _Sources:
    names = [f"{owner}.weight_g", f"{owner}.weight_v"]
    return _Sources(
        names, [[shape[0], 1, 1], shape], lambda t: build(torch._weight_norm(t[1].float(), t[0].float(), 0))
    )


def _stack(owner: str, leaves: tuple[str, ...], rows: list[int], columns: int) -> _Sources:
    parent = owner.rpartition(".")[0]
    return _Sources([f"{parent}.{leaf}.weight" for leaf in leaves], [[r, columns] for r in rows], torch.cat)


def _compare(
    path: Path, recipe: dict[str, _Sources], wanted: dict[str, torch.Tensor], shapes: dict[str, list[int]]
) -> None:
    expected = {name: shape for s in recipe.values() for name, shape in zip(s.names, s.shapes, strict=True)}
    missing = sorted(expected.keys() - shapes.keys())
    if missing:
        raise CheckpointError(f"{path}: tensor {missing[0]} is missing{_more(missing)}")
    surplus = sorted(name for name in shapes.keys() - expected.keys() if not name.startswith(UNUSED))
    if surplus:
        raise CheckpointError(f"{path}: tensor {surplus[0]} belongs to no part of the model{_more(surplus)}")
    for name, shape in expected.items():
        if shapes[name] != shape:
            raise CheckpointError(f"{path}: tensor {name} has shape {shapes[name]}, config.json asks for {shape}")


def _more(names: list[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _open(path: Path, stack: ExitStack) -> tuple[Callable[[str], torch.Tensor], dict[str, list[int]]]:
    """A reader of single tensors, and the shapes of all."""
    try:
        faults.point("load")
        check_regular(path)
        if path.suffix == ".safetensors":
            handle = stack.enter_context(safe_open(path, framework="pt"))
            return handle.get_tensor, {name: list(handle.get_slice(name).get_shape()) for name in handle.keys()}  # noqa: SIM118
        # Files of torch before 1.6 are no zip archives and can't be mapped.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what is refused below
            loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        tensors = loaded.get("state_dict", loaded)
        for name, value in tensors.items():
            if not isinstance(name, str) or value.layout != torch.strided or value.is_meta:
                raise ValueError(f"{quoted(name)} is not a plain tensor with a name")
            if value.nbytes > value.untyped_storage().nbytes():  # would be made of little and take what it claims
                raise ValueError(f"{quoted(name)} claims more numbers than the file holds")
        return tensors.__getitem__, {name: list(value.shape) for name, value in tensors.items()}
    except torch.OutOfMemoryError:  # a RuntimeError, and no fault of the file
        raise
    except (
        OSError,
        SafetensorError,
        RuntimeError,
        ValueError,
        AttributeError,
        EOFError,
        KeyError,
        TypeError,
        pickle.UnpicklingError,
    ) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(f"{path}: damaged or not a weight file ({reason})") from None


def _fold_mup(state: dict[str, torch.Tensor], config: ModelConfig) -> None:
    """muP scales the embedding and each residual branch; a scaled matrix gives the same and costs nothing later."""
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
