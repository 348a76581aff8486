"""Parts of a file are read into tensors by several threads; the values equal those of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from voxcli.errors import CheckpointError
from voxcli.model import parallelread
from voxcli.model.parallelread import ParallelReader

CPU = torch.device("cpu")


@pytest.fixture
def numbers(tmp_path: Path) -> tuple[Path, torch.Tensor]:
    values = torch.randn(10_000, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    path = tmp_path / "weights"
    path.write_bytes(b"header__" + values.view(torch.uint8).numpy().tobytes())
    return path, values


@pytest.mark.parametrize("block", [64, 1024, 1 << 20])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_parts_can_be_read_in_any_order(
    numbers: tuple[Path, torch.Tensor], monkeypatch: pytest.MonkeyPatch, block: int, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(parallelread, "BLOCK", block)
    path, values = numbers
    found = torch.full((10_000,), torch.nan, dtype=dtype)
    with ParallelReader(path, CPU) as reader:
        for start in (7_001, 0, 33):
            stop = {7_001: 10_000, 33: 7_001, 0: 33}[start]
            reader.read(8 + 2 * start, torch.bfloat16, found[start:stop])
    assert torch.equal(found, values.to(dtype))


def test_a_truncated_file(numbers: tuple[Path, torch.Tensor]) -> None:
    path, _ = numbers
    with (
        pytest.raises(CheckpointError, match=r"weights: can't be read \(unexpected end of file\)"),
        ParallelReader(path, CPU) as reader,
    ):
        reader.read(16, torch.bfloat16, torch.empty(10_000, dtype=torch.bfloat16))


def test_an_error_in_the_block_is_raised_and_files_are_closed(numbers: tuple[Path, torch.Tensor]) -> None:
    path, _ = numbers
    with pytest.raises(KeyError), ParallelReader(path, CPU) as reader:
        readers = [reader._readers.get() for _ in range(parallelread.READERS)]
        for each in readers:
            reader._readers.put(each)
        reader.read(8, torch.bfloat16, torch.empty(10, dtype=torch.bfloat16))
        raise KeyError
    assert all(each._file.closed for each in readers)


def test_a_file_that_is_replaced_while_it_is_opened(
    numbers: tuple[Path, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = numbers
    opened = parallelread.open_regular

    def replace(name: Path) -> object:
        file = opened(name)
        path.rename(path.with_suffix(f".{file.fileno()}"))
        path.write_bytes(b"another")
        return file

    monkeypatch.setattr(parallelread, "open_regular", replace)
    with pytest.raises(OSError, match="replaced"):
        ParallelReader(path, CPU)
