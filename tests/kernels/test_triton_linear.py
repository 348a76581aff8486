"""Fused products of few rows against their torch twins: on a GPU, or in Triton's interpreter (TRITON_INTERPRET=1)."""

from __future__ import annotations

import os

import pytest
import torch

pytest.importorskip("triton", reason="Triton comes with CUDA builds of torch")

if torch.cuda.is_available():
    DEVICE, DTYPES = "cuda", [torch.float16, torch.bfloat16]
elif os.environ.get("TRITON_INTERPRET") == "1":
    DEVICE, DTYPES = "cpu", [torch.float16]  # the interpreter has no product of bfloat16 matrices
else:
    pytest.skip("no GPU, and TRITON_INTERPRET=1 is not set", allow_module_level=True)

from voxcli.kernels import torch_ops, triton_linear

SHAPES = [(1, 256, 48), (22, 256, 80), (64, 512, 33)]  # rows, inner, columns


def draw(*shape: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def close(ours: torch.Tensor, twin: torch.Tensor, exact: torch.Tensor) -> None:
    """No farther from the exact result than the twin is, within a factor for another order of rounding."""
    assert ours.dtype == twin.dtype and ours.shape == twin.shape

    def error(x: torch.Tensor) -> float:
        return float((x.double() - exact.double()).norm() / exact.double().norm())

    assert error(ours) < 2 * error(twin) + 1e-4, (error(ours), error(twin))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
def test_norm_linear(rows: int, inner: int, columns: int, dtype: torch.dtype) -> None:
    x, norm = 3 * draw(rows, inner, dtype=dtype), draw(inner, dtype=dtype, seed=1)
    weight = draw(columns, inner, dtype=dtype, seed=2)
    given = (x, norm, 1e-5, weight)
    close(
        triton_linear.norm_linear(*given),
        torch_ops.norm_linear(*given),
        torch_ops.norm_linear(x.float(), norm.float(), 1e-5, weight.float()),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
def test_norm_gated_linear(rows: int, inner: int, columns: int, dtype: torch.dtype) -> None:
    x, norm = draw(rows, inner, dtype=dtype), draw(inner, dtype=dtype, seed=1)
    gate_up = draw(2 * columns, inner, dtype=dtype, seed=2) / 10
    given = (x, norm, 1e-5, gate_up)
    close(
        triton_linear.norm_gated_linear(*given),
        torch_ops.norm_gated_linear(*given),
        torch_ops.norm_gated_linear(x.float(), norm.float(), 1e-5, gate_up.float()),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
def test_linear_add(rows: int, inner: int, columns: int, dtype: torch.dtype) -> None:
    x, branch = draw(rows, columns, dtype=dtype), draw(rows, inner, dtype=dtype, seed=1)
    weight = draw(columns, inner, dtype=dtype, seed=2)
    exact = torch_ops.linear_add(x.float(), branch.float(), weight.float())
    twin = torch_ops.linear_add(x.clone(), branch, weight)
    ours = triton_linear.linear_add(x, branch, weight)
    assert ours.data_ptr() == x.data_ptr(), "in place"
    close(ours, twin, exact)
