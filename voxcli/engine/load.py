"""From the model options of a command to an engine that is ready."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from voxcli.errors import DeviceError, VoxError, in_one_line, quoted
from voxcli.memory import is_out_of_memory
from voxcli.model.hub import ResolvedModel, resolve_model

if TYPE_CHECKING:
    from voxcli.engine.engine import Engine

ENGINE_OPTIONS = ("max_batch", "prefill_tokens", "decode_clips")


@dataclass(frozen=True)
class ModelOptions:
    """Which model runs, where, and how. What is None is left to the engine, which asks the device.

    lora:            the folder of an adapter that is merged into the model.
    max_batch:       most requests at once; the others named in ENGINE_OPTIONS are those of `EngineConfig` as well.
    """

    model: str | None = None
    device: str = "auto"
    dtype: str = "auto"
    max_batch: int | None = None
    lora: Path | None = None
    prefill_tokens: int | None = None
    decode_clips: int | None = None


@dataclass(frozen=True)
class LoadedEngine:
    engine: Engine
    name: str  # of the model, with device and dtype, for people
    folder: Path  # of its checkpoint

    def encoder(self) -> str:
        """The identity of its voice encoder; reads the encoder's weights."""
        from voxcli.model.weights import encoder_identity

        return encoder_identity(self.folder)


def load_engine(
    options: ModelOptions,
    notify: Callable[[str], None],
    choice: ResolvedModel | None = None,
    requests: int | None = None,
) -> LoadedEngine:
    """Choose (unless that has been done), load and set up; takes seconds. Raises ModelError.

    requests: how many will come at most; None: unknown.
    """
    choice = choice or resolve_model(options.model, notify)
    values = {name: getattr(options, name) for name in ENGINE_OPTIONS} | {"requests": requests}
    with _fitting(choice.name):
        from voxcli.engine.config import EngineConfig
        from voxcli.engine.engine import Engine
        from voxcli.model.device import resolve_device
        from voxcli.model.weights import load_model

        imports = Thread(target=_import_kernels, args=(resolve_device(options.device).type,), daemon=True)
        imports.start()
        model = load_model(choice.folder, device=options.device, dtype=options.dtype, lora=options.lora)
        imports.join()
        config = EngineConfig(**{name: value for name, value in values.items() if value is not None})
        engine = Engine(model, config, notify)
    adapted = f" with {options.lora.name}" if options.lora is not None else ""
    name = f"{choice.name}{adapted} on {model.device}, {str(model.dtype).removeprefix('torch.')}"
    return LoadedEngine(engine, name, choice.folder)


def random_engine(size: str, options: ModelOptions, notify: Callable[[str], None]) -> LoadedEngine:
    """An engine with random weights of a known size, for measurements. Raises InputError or ModelError."""
    from voxcli.engine.config import EngineConfig
    from voxcli.engine.engine import Engine
    from voxcli.errors import InputError
    from voxcli.model.config import ModelConfig
    from voxcli.model.device import resolve_device, resolve_dtype
    from voxcli.model.random import SIZES, random_model
    from voxcli.model.size import count_parameters, empty_model

    if size not in SIZES:
        raise InputError(f"--random-weights knows {', '.join(SIZES)}, not {quoted(size)}")
    config = ModelConfig.model_validate(SIZES[size])
    device = resolve_device(options.device)
    dtype = resolve_dtype(options.dtype, device, count_parameters(empty_model(config)))
    name = f"random weights of {size}'s size on {device}, {str(dtype).removeprefix('torch.')}"
    with _fitting(name):
        engine = Engine(random_model(config, device, dtype), EngineConfig(max_batch=options.max_batch), notify)
    return LoadedEngine(engine, name, Path())


def _import_kernels(device: str) -> None:
    """Import what a GPU's kernels need, while weights are read: 0.8 s, most of it Triton."""
    if device != "cuda":
        return
    with suppress(ImportError):  # reported where it matters
        from voxcli.kernels import triton_attention, triton_gated, triton_linear, triton_ops, triton_vae  # noqa: F401
        from voxcli.kernels.vllm_library import load_flash_attention

        load_flash_attention()


@contextmanager
def _fitting(name: str) -> Iterator[None]:
    """Raises DeviceError where memory runs out inside: of weights, of tables, or of the libraries themselves."""
    try:
        yield
    except VoxError:
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        reason = f"{name} does not fit into the memory here ({in_one_line(error)})"
        raise DeviceError(f"{reason}; `voxcpm2 doctor --model` reports what it needs") from error
