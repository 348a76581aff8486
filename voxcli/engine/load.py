"""Creates an engine from the model options of a command."""

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
    """Which model to load, where and how it runs.

    model: a folder or hub id; None: see `resolve_model`.
    lora:  the folder of an adapter that is merged into the model.

    The options in ENGINE_OPTIONS are those of `EngineConfig`; None: the engine chooses for the device.
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
    """An engine with its model.

    name:   of the model, with device and dtype, for people.
    folder: of the checkpoint.
    """

    engine: Engine
    name: str
    folder: Path

    def encoder(self) -> str:
        """Return the identity of the model's voice encoder. Reads the encoder's weights."""
        from voxcli.model.weights import encoder_identity

        return encoder_identity(self.folder)


def load_engine(
    options: ModelOptions,
    notify: Callable[[str], None],
    choice: ResolvedModel | None = None,
    requests: int | None = None,
) -> LoadedEngine:
    """Choose and load a model and create an engine. Takes seconds. Raises ModelError.

    choice:   the model, if it has already been chosen.
    requests: maximum number of requests to come; None: unknown.
    """
    choice = choice or resolve_model(options.model, notify)
    values = {name: getattr(options, name) for name in ENGINE_OPTIONS} | {"requests": requests}
    with _memory_errors_converted(choice.name):
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
    """Create an engine with random weights of a known size, for measurements. Raises InputError or ModelError."""
    from voxcli.engine.config import EngineConfig
    from voxcli.engine.engine import Engine
    from voxcli.errors import InputError
    from voxcli.model.config import ModelConfig
    from voxcli.model.device import resolve_device, resolve_dtype
    from voxcli.model.random import SIZES, random_model
    from voxcli.model.size import count_parameters, empty_model

    if size not in SIZES:
        raise InputError(f"--random-weights must be one of {', '.join(SIZES)}, not {quoted(size)}")
    config = ModelConfig.model_validate(SIZES[size])
    device = resolve_device(options.device)
    dtype = resolve_dtype(options.dtype, device, count_parameters(empty_model(config)))
    name = f"random weights of {size}'s size on {device}, {str(dtype).removeprefix('torch.')}"
    with _memory_errors_converted(name):
        engine = Engine(random_model(config, device, dtype), EngineConfig(max_batch=options.max_batch), notify)
    return LoadedEngine(engine, name, Path())


def _import_kernels(device: str) -> None:
    """Import the packages of the GPU kernels while weights are read. Takes 0.8 s, mostly for Triton."""
    if device != "cuda":
        return
    with suppress(Exception):  # the engine meets the same error in its own thread, and reports it
        from voxcli.kernels import triton_attention, triton_gated, triton_linear, triton_ops, triton_vae  # noqa: F401
        from voxcli.kernels.vllm_library import load_flash_attention

        load_flash_attention()


@contextmanager
def _memory_errors_converted(name: str) -> Iterator[None]:
    """Raise DeviceError if memory runs out in the block: for weights, for tables or in a library."""
    try:
        yield
    except VoxError:
        raise
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        reason = f"{name} does not fit into memory ({in_one_line(error)})"
        raise DeviceError(f"{reason}; `voxcpm2 doctor --model` reports what it needs") from error
