"""Every fused kernel against its plain version: on a GPU, or on a CPU in Triton's interpreter (TRITON_INTERPRET=1)."""

from __future__ import annotations

import os

import pytest
import torch

pytest.importorskip("triton", reason="Triton comes with CUDA builds of torch")

if torch.cuda.is_available():
    DEVICE = "cuda"
elif os.environ.get("TRITON_INTERPRET") == "1":
    DEVICE = "cpu"
else:
    pytest.skip("no GPU, and TRITON_INTERPRET=1 is not set", allow_module_level=True)

from voxcli.kernels import torch_ops, triton_attention, triton_gated, triton_linear, triton_ops
from voxcli.kernels.torch_ops import Rms

DTYPES = [torch.float32, torch.bfloat16]


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def close(ours: torch.Tensor, plain: torch.Tensor) -> None:
    assert ours.dtype == plain.dtype and ours.shape == plain.shape
    error = (ours.double() - plain.double()).norm() / plain.double().norm()
    # bfloat16 has 8 significant bits; Triton's interpreter truncates, a GPU rounds
    assert error < (1e-6 if ours.dtype == torch.float32 else 6e-3 if DEVICE == "cuda" else 1.2e-2), float(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 32), (3, 11, 320), (7, 1024), (5, 2048)])
def test_rms_norm(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, weight = draw(*shape, dtype=dtype), draw(shape[-1], dtype=dtype, seed=2)
    close(triton_ops.rms_norm(x, weight, 1e-5), torch_ops.rms_norm(x, weight, 1e-5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 64), (3, 11, 1280), (5, 8192)])
def test_silu_mul(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    gate_up = draw(*shape, dtype=dtype)
    close(triton_ops.silu_mul(gate_up), torch_ops.silu_mul(gate_up))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [48, 1024])
def test_silu_mul_with_a_pending_normalization(width: int, dtype: torch.dtype) -> None:
    gate_up, rms = draw(6, 640, dtype=dtype), Rms(draw(2, 3, width, dtype=dtype, seed=1) * 3, 1e-5)
    ours = triton_ops.silu_mul(gate_up, rms)
    # in float32, because the plain version rounds the divided rows, which the kernel never stores
    close(ours, torch_ops.silu_mul(gate_up.float(), Rms(rms.x.float(), rms.eps)).to(dtype))


@pytest.mark.skipif(DEVICE == "cpu", reason="needs the tensor memory accelerator of Hopper or newer")
@pytest.mark.parametrize(
    ("rows", "width", "columns"), [(1024, 1024, 4096), (1397, 2048, 6144), (2816, 1024, 4096), (5632, 1024, 4096)]
)
def test_gated_products(rows: int, width: int, columns: int) -> None:
    x = draw(rows, width, dtype=torch.bfloat16) * torch.linspace(0.1, 4, rows, device=DEVICE)[:, None].bfloat16()
    gate_up = draw(2 * columns, width, dtype=torch.bfloat16, seed=1) * 2 / width**0.5
    if not triton_gated.fits(x, gate_up):
        pytest.skip("this GPU has no tensor memory accelerator, or this Triton does not support it")
    ours = triton_gated.gated(x, 1e-5, gate_up)
    product = (x.double() @ gate_up.double().T) * torch.rsqrt(x.double().square().mean(-1, keepdim=True) + 1e-5)
    gate, up = product.chunk(2, -1)
    close(ours, (gate * gate.sigmoid() * up).to(ours.dtype))
    assert torch.equal(triton_gated.gated(x, 1e-5, gate_up), ours)
    assert torch.equal(triton_gated.gated(x[:1030], 1e-5, gate_up), ours[:1030]), "a row does not depend on the others"


def test_tensors_that_the_gated_kernel_does_not_fit() -> None:
    gate_up = draw(512, 64, dtype=torch.bfloat16)
    assert not triton_gated.fits(draw(1023, 64, dtype=torch.bfloat16), gate_up), "too few rows"
    assert not triton_gated.fits(draw(1024, 64), draw(512, 64)), "float32 tiles are too large"
    assert not triton_gated.fits(draw(1024, 64, dtype=torch.bfloat16), gate_up[:-2]), (
        "columns are no multiple of a tile"
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rotated", [True, False])
@pytest.mark.parametrize("width", [0, 48, 2048])
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(4, 2, 16), (16, 2, 128)])
def test_rope_and_write(heads: int, kv_heads: int, dim: int, width: int, rotated: bool, dtype: torch.dtype) -> None:
    tokens = 9
    rms = Rms(draw(tokens, width, dtype=dtype, seed=5) * 3, 1e-5) if width else None
    qkv = draw(tokens, heads + 2 * kv_heads, dim, dtype=dtype)
    rope = (draw(50, dim, seed=1), draw(50, dim, seed=2)) if rotated else None
    positions = torch.randint(50, (tokens,), generator=torch.Generator().manual_seed(3)).to(DEVICE)
    slots = torch.randperm(5 * 16, generator=torch.Generator().manual_seed(4))[:tokens].to(DEVICE)
    caches = [torch.full((2, 5, 16, kv_heads, dim), 7.0, dtype=dtype, device=DEVICE) for _ in range(2)]
    q = triton_ops.rope_and_write(qkv, heads, rope, positions, slots, caches[0], rms)
    close(q, torch_ops.rope_and_write(qkv, heads, rope, positions, slots, caches[1], rms))
    close(caches[0], caches[1])
    untouched = torch.ones(80, dtype=torch.bool)
    untouched[slots.cpu()] = False
    assert (caches[0].flatten(1, 2)[:, untouched.to(DEVICE)] == 7).all(), "only the given slots are written"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(4, 2, 64), (6, 2, 64), (16, 2, 128)])
@pytest.mark.parametrize(("keys", "first"), [(11, 0), (11, 7), (5, 0)])
@pytest.mark.parametrize(("width", "separate"), [(0, False), (48, False), (384, False), (48, True), (384, True)])
def test_local_attention(
    heads: int,
    kv_heads: int,
    dim: int,
    keys: int,
    first: int,
    width: int,
    separate: bool,
    dtype: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """separate: with few rows the kernel computes their scales itself, with many another kernel does."""
    if DEVICE == "cpu" and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter can't multiply bfloat16 matrices")
    qkv = draw(3, keys, heads + 2 * kv_heads, dim, dtype=dtype)
    q, k, v = qkv.split((heads, kv_heads, kv_heads), 2)
    q = q[:, first:]
    cos, sin = draw(keys, dim, seed=1), draw(keys, dim, seed=2)
    rms = Rms(draw(3, keys, width, dtype=dtype, seed=3) * 3, 1e-5) if width else None
    monkeypatch.setattr(triton_attention, "SEPARATE_ROWS", 1 if separate else 10**9)
    given = (q, k, v, cos, sin, first, rms)
    close(triton_attention.local_attention(*given), torch_ops.local_attention(*given))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "width"), [(1, 1024), (7, 48), (33, 2048)])
def test_row_scales(rows: int, width: int, dtype: torch.dtype) -> None:
    x = draw(rows, width, dtype=dtype) * torch.linspace(0.01, 4, rows, device=DEVICE)[:, None].to(dtype)
    close(triton_ops.row_scales(Rms(x, 1e-5)), torch.rsqrt(x.float().square().mean(-1) + 1e-5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 2, 6), (5, 4, 64)])
@pytest.mark.parametrize("widths", [(0.13, 0.13), (0.13, -0.2), (0.13, 0.0), (1.0, 1.0)])
def test_guided_move(shape: tuple[int, ...], widths: tuple[float, float], dtype: torch.dtype) -> None:
    x, velocity = draw(*shape), draw(2 * shape[0], *shape[1:], dtype=dtype, seed=1)
    cfg = torch.linspace(1, 3, shape[0]).to(DEVICE)
    ours, theirs = (ops.guided_move(x, velocity, cfg, *widths) for ops in (triton_ops, torch_ops))
    for one, other in zip(ours, theirs, strict=True):
        close(one, other)
    assert (ours[0] is ours[1]) == (widths[0] == widths[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [24, 1024])
def test_join_tokens(width: int, dtype: torch.dtype) -> None:
    prefix, token, noisy = draw(6, 7, width, dtype=dtype), draw(width, dtype=dtype, seed=1), draw(3, 4, width, seed=2)
    given = (2, token, noisy.to(dtype))
    assert torch.equal(triton_ops.join_tokens(prefix.clone(), *given), torch_ops.join_tokens(prefix, *given))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "columns"), [(64, 20), (2048, 24), (6144, 12)])
def test_one_row(width: int, columns: int, dtype: torch.dtype) -> None:
    x, weight = draw(1, width, dtype=dtype) * 3, draw(2 * columns, width, dtype=dtype, seed=1) / width**0.5
    before = draw(1, columns, dtype=dtype, seed=2)
    assert triton_linear.fits(x, columns) and not triton_linear.fits(x.repeat(2, 1), columns)
    # compared with a product in float32 that is rounded once, at the end
    x32, weight32, before32 = x.float(), weight.float(), before.float()
    ours = triton_linear.one_row(x, weight[:columns], eps=1e-5)
    close(ours, torch_ops.norm_linear(x32, None, 1e-5, weight32[:columns]).to(dtype))
    ours = triton_linear.one_row(x, weight, eps=1e-5, gated=True)
    close(ours, torch_ops.norm_gated_linear(x32, None, 1e-5, weight32).to(dtype))
    ours = triton_linear.one_row(x, weight[:columns], add_to=before)
    assert ours is before
    close(ours, torch_ops.linear_add(before32, x32, weight32[:columns]).to(dtype))
