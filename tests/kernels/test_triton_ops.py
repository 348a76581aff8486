"""Every fused kernel against its torch twin: on a GPU, or on a CPU in Triton's interpreter (TRITON_INTERPRET=1)."""

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

from voxcli.kernels import torch_ops, triton_ops

DTYPES = [torch.float32, torch.bfloat16]


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def close(ours: torch.Tensor, twin: torch.Tensor) -> None:
    assert ours.dtype == twin.dtype and ours.shape == twin.shape
    error = (ours.double() - twin.double()).norm() / twin.double().norm()
    # bfloat16 has 8 bits; Triton's interpreter cuts them off where a GPU rounds
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
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(4, 2, 16), (16, 2, 128)])
def test_rope_and_write(heads: int, kv_heads: int, dim: int, turned: bool, dtype: torch.dtype) -> None:
    tokens = 9
    qkv = draw(tokens, heads + 2 * kv_heads, dim, dtype=dtype)
    rope = (draw(50, dim, seed=1), draw(50, dim, seed=2)) if turned else None
    positions = torch.randint(50, (tokens,), generator=torch.Generator().manual_seed(3)).to(DEVICE)
    slots = torch.randperm(5 * 16, generator=torch.Generator().manual_seed(4))[:tokens].to(DEVICE)
    caches = [torch.full((2, 5, 16, kv_heads, dim), 7.0, dtype=dtype, device=DEVICE) for _ in range(2)]
    q = triton_ops.rope_and_write(qkv, heads, rope, positions, slots, caches[0])
    close(q, torch_ops.rope_and_write(qkv, heads, rope, positions, slots, caches[1]))
    close(caches[0], caches[1])
    untouched = torch.ones(80, dtype=torch.bool)
    untouched[slots.cpu()] = False
    assert (caches[0].flatten(1, 2)[:, untouched.to(DEVICE)] == 7).all(), "only the given slots are written"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(4, 2, 64), (6, 2, 64), (16, 2, 128)])
@pytest.mark.parametrize(("keys", "first"), [(11, 0), (11, 7), (5, 0)])
def test_local_attention(heads: int, kv_heads: int, dim: int, keys: int, first: int, dtype: torch.dtype) -> None:
    if DEVICE == "cpu" and dtype == torch.bfloat16:
        pytest.skip("Triton's interpreter has no product of bfloat16 matrices")
    qkv = draw(3, keys, heads + 2 * kv_heads, dim, dtype=dtype)
    q, k, v = qkv.split((heads, kv_heads, kv_heads), 2)
    q = q[:, first:]
    cos, sin = draw(keys, dim, seed=1), draw(keys, dim, seed=2)
    close(triton_ops.local_attention(q, k, v, cos, sin, first), torch_ops.local_attention(q, k, v, cos, sin, first))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 2, 6), (5, 4, 64)])
def test_guided_step(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, velocity = draw(*shape), draw(2 * shape[0], *shape[1:], dtype=dtype, seed=1)
    cfg = torch.linspace(1, 3, shape[0]).to(DEVICE)
    close(triton_ops.guided_step(x, velocity, cfg, 0.13), torch_ops.guided_step(x, velocity, cfg, 0.13))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [24, 1024])
def test_join_tokens(width: int, dtype: torch.dtype) -> None:
    prefix, token, noisy = draw(6, 7, width, dtype=dtype), draw(width, dtype=dtype, seed=1), draw(3, 4, width, seed=2)
    given = (2, token, noisy.to(dtype))
    assert torch.equal(triton_ops.join_tokens(prefix.clone(), *given), torch_ops.join_tokens(prefix, *given))
