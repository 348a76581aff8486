"""The audio decoder's kernels against their plain versions: on a GPU, or on a CPU in Triton's interpreter."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

pytest.importorskip("triton", reason="Triton comes with CUDA builds of torch")

if torch.cuda.is_available():
    DEVICE = "cuda"
elif os.environ.get("TRITON_INTERPRET") == "1":
    DEVICE = "cpu"
else:
    pytest.skip("no GPU, and TRITON_INTERPRET=1 is not set", allow_module_level=True)

from voxcli.kernels import torch_vae, triton_vae

DTYPES = [torch.float32, torch.float16]


@pytest.fixture(autouse=True)
def interpreted_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton 3.6's interpreter calls int() on an array with one element in loops, which NumPy 2.4 rejects."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patched)


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def table(rows: int, channels: int, *alphas: int) -> torch.Tensor:
    """Return random parameters. alphas: rows that are made positive; the row after each contains the inverses."""
    values = draw(rows, channels, seed=7)
    for row in alphas:
        values[row] = values[row].abs() + 0.1
        values[row + 1] = 1 / values[row]
    return values


def close(ours: torch.Tensor, plain: torch.Tensor, dtype: torch.dtype) -> None:
    assert ours.dtype == plain.dtype and ours.shape == plain.shape
    error = (ours.double() - plain.double()).norm() / plain.double().norm()
    assert error < (2e-6 if dtype == torch.float32 else 1.5e-3), float(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dilation", [1, 3, 9])
@pytest.mark.parametrize(
    ("channels", "clips", "times"), [(16, 2, 45), (32, 3, 37), (64, 1, 70), (128, 2, 19), (8, 2, 33), (96, 1, 21)]
)
def test_residual_unit(channels: int, clips: int, times: int, dilation: int, dtype: torch.dtype) -> None:
    x = draw(clips, times, channels, dtype=dtype)
    unit = table(13, channels, 1, 11)
    point = (draw(channels, channels, seed=2) / channels**0.5).to(dtype)
    plain = torch_vae.residual_unit(x, unit, point, dilation)
    close(triton_vae.residual_unit(x, unit, point, dilation), plain, dtype)


@pytest.mark.parametrize("times", [1, 5, 200])
def test_residual_unit_of_many_stretches(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each walk starts with the six activated values before it, or with zeros at the start of a clip."""
    monkeypatch.setattr(triton_vae, "STEPS", (3, 3))
    x = draw(3, times, 16)
    unit, point = table(13, 16, 1, 11), draw(16, 16, seed=2) / 4
    for dilation in (1, 3, 9):
        plain = torch_vae.residual_unit(x, unit, point, dilation)
        close(triton_vae.residual_unit(x.clone(), unit, point, dilation), plain, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("channels", "width", "clips", "times"),
    [(32, 32, 3, 45), (64, 64, 2, 70), (128, 320, 1, 33), (256, 256, 1, 20), (16, 24, 2, 7), (12, 30, 3, 5)],
)
def test_upsample(channels: int, width: int, clips: int, times: int, dtype: torch.dtype) -> None:
    x = draw(clips, times, channels, dtype=dtype)
    entry = table(4, channels, 2)
    weight = (draw(2 * channels, width, seed=2) / (2 * channels) ** 0.5).to(dtype)
    close(triton_vae.upsample(x, entry, weight), torch_vae.upsample(x, entry, weight), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("channels", "clips", "times"), [(32, 2, 45), (1, 3, 7), (24, 1, 130)])
def test_last_conv(channels: int, clips: int, times: int, dtype: torch.dtype) -> None:
    x = draw(clips, times, channels, dtype=dtype)
    last = table(11, channels, 1)
    last[3:] /= 3 * channels**0.5
    ours = triton_vae.last_conv(x, last)
    close(ours, torch_vae.last_conv(x, last), torch.float32)
    assert ours.dtype == torch.float32 and ours.abs().max() <= 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_snake_of_many_turns(dtype: torch.dtype) -> None:
    """Both ways to compute the snake reduce their argument to one turn; here it has hundreds."""
    x = draw(2, 40, 32, dtype=dtype) * 50
    last = table(11, 32, 1)
    last[1] = torch.linspace(1, 50, 32)
    last[2] = 1 / last[1]
    last[3:10] /= 5000
    last[10] = 0
    ours, plain = triton_vae.last_conv(x, last), torch_vae.last_conv(x, last)
    assert (ours - plain).norm() < 1e-4 * plain.norm()
