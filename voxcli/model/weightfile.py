"""Weight files: reads tensors by name, one at a time, each into memory of its own.

A file is not kept mapped: the mapping would count in addition to the weights made from it, and one that is never
released holds all weights twice. Pickled files are always read with `weights_only=True`.
"""

from __future__ import annotations

import json
import pickle
import warnings
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias

import torch
from safetensors import SafetensorError, safe_open

from voxcli import faults
from voxcli.errors import CheckpointError, quoted, reason_of
from voxcli.files.read import check_regular, open_regular
from voxcli.memory import is_out_of_memory
from voxcli.model.parallelread import BLOCK, ParallelReader, read_all

Shapes: TypeAlias = dict[str, list[int]]

FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Read(Protocol):
    """Returns the tensor with a name.

    into: a contiguous tensor of the same shape, with any dtype and device, which is filled and returned. On a GPU it is
          filled when the file is closed. None: a new tensor on the CPU with the file's dtype.
    """

    def __call__(self, name: str, into: torch.Tensor | None = None) -> torch.Tensor: ...


def open_weights(path: Path, stack: ExitStack) -> tuple[Read, Shapes]:
    """Open a weight file and return a reader of single tensors and the shapes of all tensors. `stack` closes the file.

    Both this function and the reader raise CheckpointError if the file is damaged or of another kind. Errors that mean
    that memory ran out are not converted.
    """
    try:
        faults.point("load")
        check_regular(path)
        if path.suffix == ".safetensors":
            return _open_safetensors(path, stack)
        return _open_pickle(path)
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
        if is_out_of_memory(error):
            raise
        reason = reason_of(error, first_line=True)
        raise CheckpointError(f"{path}: damaged or not a weight file ({reason})") from None


def _open_safetensors(path: Path, stack: ExitStack) -> tuple[Read, Shapes]:
    """Open a safetensors file. The library checks the header and the size of the file; the values are read without it.

    This avoids the library's mapping of the file.
    """
    with safe_open(path, framework="pt") as handle:
        shapes = {name: list(handle.get_slice(name).get_shape()) for name in handle.keys()}  # noqa: SIM118
    file = stack.enter_context(open_regular(path))
    size = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(size))
    block = torch.empty(BLOCK, dtype=torch.uint8)  # reused: temporary buffers between weights would fragment memory
    on_gpu: list[ParallelReader] = []  # at most one, created when it is needed

    def read(name: str, into: torch.Tensor | None = None) -> torch.Tensor:
        entry = header[name]
        dtype = FLOATS.get(entry["dtype"])
        if dtype is None:
            raise CheckpointError(f"{path}: tensor {name} holds {entry['dtype']}, not weights")
        tensor = torch.empty(shapes[name], dtype=dtype) if into is None else into
        offset = 8 + size + entry["data_offsets"][0]
        try:
            if tensor.is_cuda:
                if not on_gpu:
                    on_gpu.append(stack.enter_context(ParallelReader(path, tensor.device)))
                on_gpu[0].read(offset, dtype, tensor.view(-1))
                return tensor
            file.seek(offset)
            _fill(tensor, file, dtype, block)
        except OSError as error:
            raise CheckpointError(f"{path}: can't be read ({error})") from None
        return tensor

    return read, shapes


def _fill(tensor: torch.Tensor, file: BinaryIO, dtype: torch.dtype, block: torch.Tensor) -> None:
    """Fill a contiguous tensor with the next values of the file, which are of type `dtype`. Raises OSError."""
    flat = tensor.view(-1)
    if tensor.is_cpu and tensor.dtype == dtype:
        read_all(file, flat)
        return
    values = block.view(dtype)
    for part in flat.split(len(values)):
        read_all(file, values[: len(part)])
        part.copy_(values[: len(part)])


def _open_pickle(path: Path) -> tuple[Read, Shapes]:
    # Files of torch before 1.6 are not zip archives and can't be mapped.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about tensors that are refused below
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    tensors = loaded.get("state_dict", loaded)
    for name, value in tensors.items():
        if not isinstance(name, str) or value.layout != torch.strided or value.is_meta:
            raise ValueError(f"{quoted(name)} is not a plain tensor with a name")
        if value.nbytes > value.untyped_storage().nbytes():  # an expanded tensor, which a copy would materialize
            raise ValueError(f"{quoted(name)} claims more values than the file contains")

    def read(name: str, into: torch.Tensor | None = None) -> torch.Tensor:
        tensor = tensors[name]
        if not tensor.is_floating_point():
            raise CheckpointError(f"{path}: tensor {name} holds {tensor.dtype}, not weights")
        return tensor.clone() if into is None else into.copy_(tensor)

    return read, {name: list(value.shape) for name, value in tensors.items()}
