"""Each operation against its formula, term by term."""

from __future__ import annotations

import math

import pytest
import torch

from voxcli.kernels.torch_ops import rms_norm, rotate, silu_mul, snake


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rms_norm(dtype: torch.dtype) -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]], dtype=dtype)
    weight = torch.tensor([1.0, 2.0], dtype=dtype)
    # mean squares 12.5 and 2
    expected = torch.tensor([[3 / 12.5**0.5, 8 / 12.5**0.5], [0.0, 4 / 2**0.5]])
    torch.testing.assert_close(
        rms_norm(x, weight, 0.0).float(), expected, atol=1e-6 if dtype.itemsize == 4 else 2e-2, rtol=0
    )


def test_silu_mul() -> None:
    out = silu_mul(torch.tensor([[1.0, -2.0, 3.0, 5.0]]))
    expected = [1 / (1 + math.exp(-1)) * 3, -2 / (1 + math.exp(2)) * 5]
    torch.testing.assert_close(out, torch.tensor([expected]))


def test_rotate_pairs_elements_half_a_head_apart() -> None:
    angle = torch.tensor([0.3, 1.1])
    cos, sin = (torch.cat((f(angle), f(angle)))[None] for f in (torch.cos, torch.sin))
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    out = rotate(x, cos, sin)[0, 0]
    for i in range(2):
        a, b, t = float(x[0, 0, i]), float(x[0, 0, i + 2]), float(angle[i])
        assert out[i] == pytest.approx(a * math.cos(t) - b * math.sin(t), abs=1e-6)
        assert out[i + 2] == pytest.approx(b * math.cos(t) + a * math.sin(t), abs=1e-6)


def test_snake() -> None:
    alpha = torch.tensor([[0.5], [2.0]])
    x = torch.tensor([[[1.0, -2.0], [0.25, 3.0]]])
    expected = [[[x[0, c, t] + math.sin(a * x[0, c, t]) ** 2 / a for t in range(2)] for c, a in enumerate((0.5, 2.0))]]
    torch.testing.assert_close(snake(x, alpha, alpha.reciprocal()), torch.tensor(expected))
