"""Read parts of a file into tensors on a GPU, several in parallel.

One thread that reads a block and waits for its copy reaches 3 GB/s. Here each reader has a file handle and a block of
pinned memory: it reads while the blocks of others are copied. Reading does not hold the interpreter's lock.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import BinaryIO

import torch

from voxcli.errors import CheckpointError
from voxcli.files.read import open_regular

READERS = 4
BLOCK = 1 << 24  # bytes; the buffer of a reader


def read_all(file: BinaryIO, values: torch.Tensor) -> None:
    """Fill a contiguous tensor on the CPU with the next bytes of the file. Raises OSError."""
    content = values.view(torch.uint8).numpy().data
    while len(content):
        count = file.readinto(content)  # type: ignore[attr-defined]
        if not count:
            raise OSError("unexpected end of file")
        content = content[count:]


class _Reader:
    """A file handle with a buffer, used by one thread at a time."""

    def __init__(self, path: Path, device: torch.device):
        self._file = open_regular(path)
        on_gpu = device.type == "cuda"
        self._block = torch.empty(BLOCK, dtype=torch.uint8, pin_memory=on_gpu)
        self._copied = torch.cuda.Event() if on_gpu else None
        state = os.fstat(self._file.fileno())
        self.identity = state.st_dev, state.st_ino

    def read(self, offset: int, dtype: torch.dtype, into: torch.Tensor) -> None:
        if self._copied is not None:
            self._copied.synchronize()  # the buffer may still be being copied
        values = self._block.view(dtype)[: len(into)]
        self._file.seek(offset)
        read_all(self._file, values)
        if into.dtype == dtype:
            into.copy_(values, non_blocking=True)
        else:  # converted on the device
            into.copy_(values.to(into.device, non_blocking=True))
        if self._copied is not None:
            self._copied.record()

    def close(self) -> None:
        if self._copied is not None:
            self._copied.synchronize()
        self._file.close()


class ParallelReader:
    """A context manager that reads in threads. Its exit waits for them and raises CheckpointError if one failed."""

    def __init__(self, path: Path, device: torch.device):
        """Open the file. Raises OSError if that fails or if the file is replaced meanwhile."""
        self._path = path
        with ExitStack() as opened:
            readers = [opened.enter_context(closing(_Reader(path, device))) for _ in range(READERS)]
            if len({reader.identity for reader in readers}) > 1:
                raise OSError("it was replaced while it was read")
            self._opened = opened.pop_all()
        self._readers: SimpleQueue[_Reader] = SimpleQueue()
        for reader in readers:
            self._readers.put(reader)
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="weights")
        self._parts: list[Future[None]] = []

    def read(self, offset: int, dtype: torch.dtype, into: torch.Tensor) -> None:
        """Queue a read: fill `into` [count] with the values of type `dtype` from byte `offset` of the file on."""
        for part in into.split(BLOCK // dtype.itemsize):
            self._parts.append(self._threads.submit(self._read, offset, dtype, part))
            offset += len(part) * dtype.itemsize

    def _read(self, offset: int, dtype: torch.dtype, into: torch.Tensor) -> None:
        reader = self._readers.get()
        try:
            reader.read(offset, dtype, into)
        finally:
            self._readers.put(reader)

    def __enter__(self) -> ParallelReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=error is not None)
        try:
            if error is None:
                for part in self._parts:
                    part.result()
        except OSError as failure:
            raise CheckpointError(f"{self._path}: can't be read ({failure})") from None
        finally:
            self._opened.close()
