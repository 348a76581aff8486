"""Triton kernels of the codec's residual units, each with its plain torch twin. Signals are [batch, time, channels].

A residual unit of the AudioVAE is x + point(snake(depthwise(snake(x)))). cuBLAS computes the two matrix products. The
rest is bound by memory traffic and takes two kernels per direction and unit:

    add_snake(x, h, a)      ->  x + h, snake(x + h)                      (the end of one unit, the start of the next)
    depth_snake(s, w, b, a) ->  snake(causal depthwise convolution of s)

cuDNN's depthwise backward pass takes many times longer than its memory traffic requires. `depth_snake` recomputes the
convolution from seven shifted reads instead and writes partial sums of the parameter gradients, one row per program,
which torch adds up.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
import torch.nn.functional as F

try:
    import triton
    import triton.language as tl
except ImportError:  # CPU only: the torch twins are used
    triton = None

import common

INTERPRET = os.environ.get("TRITON_INTERPRET") == "1"
TAPS = 7


# --------------------------------------------------------------------------- twins
def snake(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    return x + torch.sin(a * x).square() / (a + 1e-9)


def add_snake_twin(x: torch.Tensor, h: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    x = x + h
    return x, snake(x, a)


def depth_snake_twin(s: torch.Tensor, w: torch.Tensor, b: torch.Tensor, a: torch.Tensor, dilation: int) -> torch.Tensor:
    y = F.conv1d(
        F.pad(s.transpose(1, 2), ((TAPS - 1) * dilation, 0)),
        w.T[:, None].to(s.dtype),
        b.to(s.dtype),
        dilation=dilation,
        groups=s.shape[2],
    )
    return snake(y.transpose(1, 2), a)


if triton is not None:
    # ----------------------------------------------------------------------- kernels
    @triton.jit
    def _sine(x):
        """Return (sin, cos) of x up to a common sign, which suffices for sin^2 and sin cos and avoids a slow path."""
        k = tl.floor(x * 0.3183098861837907 + 0.5)
        r = x - k * 3.140625 - k * 0.0009676535897932
        z = r * r
        q = r * (1.0 + z * (-0.16666666666 + z * (0.00833333333 + z * (-0.000198412698 + z * 2.75573192e-06))))
        p = 1.0 + z * (-0.5 + z * (0.04166666666 + z * (-0.00138888889 + z * (2.48015873e-05 - z * 2.75573192e-07))))
        return q, p

    @triton.jit(do_not_specialize=["rows"])
    def _add_snake_fwd(x_ptr, h_ptr, a_ptr, y_ptr, s_ptr, rows, C: tl.constexpr, BC: tl.constexpr, BT: tl.constexpr):
        c = tl.arange(0, BC)
        r = tl.program_id(0).to(tl.int64) * BT + tl.arange(0, BT)
        at = r[:, None] * C + c[None, :]
        ok = (r < rows)[:, None] & (c < C)[None, :]
        a = tl.load(a_ptr + c, mask=c < C, other=1.0)[None, :]
        y = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32) + tl.load(h_ptr + at, mask=ok, other=0.0).to(
            tl.float32
        )
        y = y.to(y_ptr.dtype.element_ty)
        tl.store(y_ptr + at, y, mask=ok)
        y = y.to(tl.float32)
        q, _ = _sine(a * y)
        tl.store(s_ptr + at, (y + q * q / (a + 1e-9)).to(s_ptr.dtype.element_ty), mask=ok)

    @triton.jit(do_not_specialize=["rows"])
    def _add_snake_bwd(
        y_ptr,
        gy_ptr,
        gs_ptr,
        a_ptr,
        g_ptr,
        part_ptr,
        rows,
        C: tl.constexpr,
        BC: tl.constexpr,
        BT: tl.constexpr,
        LOOP: tl.constexpr,
    ):
        c = tl.arange(0, BC)
        a = tl.load(a_ptr + c, mask=c < C, other=1.0)[None, :]
        inv = 1.0 / (a + 1e-9)
        acc = tl.zeros([BC], tl.float32)
        for i in range(LOOP):
            r = (tl.program_id(0).to(tl.int64) * LOOP + i) * BT + tl.arange(0, BT)
            at = r[:, None] * C + c[None, :]
            ok = (r < rows)[:, None] & (c < C)[None, :]
            y = tl.load(y_ptr + at, mask=ok, other=0.0).to(tl.float32)
            gs = tl.load(gs_ptr + at, mask=ok, other=0.0).to(tl.float32)
            gy = tl.load(gy_ptr + at, mask=ok, other=0.0).to(tl.float32)
            q, p = _sine(a * y)
            d = 2.0 * q * p
            tl.store(g_ptr + at, (gy + gs * (1.0 + d * a * inv)).to(g_ptr.dtype.element_ty), mask=ok)
            acc += tl.sum(gs * (y * d * inv - q * q * inv * inv), 0)
        tl.store(part_ptr + tl.program_id(0) * C + c, acc, mask=c < C)

    @triton.jit(do_not_specialize=["blocks", "D"])
    def _depth_fwd(
        s_ptr,
        w_ptr,
        b_ptr,
        a_ptr,
        u_ptr,
        T,
        blocks,
        D,
        C: tl.constexpr,
        BC: tl.constexpr,
        BT: tl.constexpr,
        K: tl.constexpr,
    ):
        n, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
        c = tl.arange(0, BC)
        live = (c < C)[None, :]
        t = block * BT + tl.arange(0, BT)
        base = n.to(tl.int64) * T * C
        v = tl.zeros([BT, BC], tl.float32) + tl.load(b_ptr + c, mask=c < C, other=0.0)[None, :]
        for k in tl.static_range(K):
            at = t - (K - 1 - k) * D
            x = tl.load(
                s_ptr + base + at[:, None] * C + c[None, :], mask=((at >= 0) & (t < T))[:, None] & live, other=0.0
            ).to(tl.float32)
            v += x * tl.load(w_ptr + k * C + c, mask=c < C, other=0.0)[None, :]
        a = tl.load(a_ptr + c, mask=c < C, other=1.0)[None, :]
        q, _ = _sine(a * v)
        tl.store(
            u_ptr + base + t[:, None] * C + c[None, :],
            (v + q * q / (a + 1e-9)).to(u_ptr.dtype.element_ty),
            mask=(t < T)[:, None] & live,
        )

    @triton.jit(do_not_specialize=["blocks", "D"])
    def _depth_bwd_v(
        s_ptr,
        w_ptr,
        b_ptr,
        a_ptr,
        gu_ptr,
        gv_ptr,
        part_ptr,
        T,
        blocks,
        D,
        C: tl.constexpr,
        BC: tl.constexpr,
        BT: tl.constexpr,
        LOOP: tl.constexpr,
        K: tl.constexpr,
    ):
        """Gradient before the second snake, and partial sums for w (K rows), b and a."""
        n, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
        c = tl.arange(0, BC)
        live = (c < C)[None, :]
        base = n.to(tl.int64) * T * C
        a = tl.load(a_ptr + c, mask=c < C, other=1.0)[None, :]
        inv = 1.0 / (a + 1e-9)
        bias = tl.load(b_ptr + c, mask=c < C, other=0.0)[None, :]
        acc_b = tl.zeros([BC], tl.float32)
        acc_a = tl.zeros([BC], tl.float32)
        w0 = tl.zeros([BC], tl.float32)
        w1 = tl.zeros([BC], tl.float32)
        w2 = tl.zeros([BC], tl.float32)
        w3 = tl.zeros([BC], tl.float32)
        w4 = tl.zeros([BC], tl.float32)
        w5 = tl.zeros([BC], tl.float32)
        w6 = tl.zeros([BC], tl.float32)
        for i in range(LOOP):
            t = (block * LOOP + i) * BT + tl.arange(0, BT)
            v = tl.zeros([BT, BC], tl.float32) + bias
            for k in tl.static_range(K):
                at = t - (K - 1 - k) * D
                x = tl.load(
                    s_ptr + base + at[:, None] * C + c[None, :], mask=((at >= 0) & (t < T))[:, None] & live, other=0.0
                ).to(tl.float32)
                v += x * tl.load(w_ptr + k * C + c, mask=c < C, other=0.0)[None, :]
            ok = (t < T)[:, None] & live
            gu = tl.load(gu_ptr + base + t[:, None] * C + c[None, :], mask=ok, other=0.0).to(tl.float32)
            q, p = _sine(a * v)
            d = 2.0 * q * p
            gv = gu * (1.0 + d * a * inv)
            tl.store(gv_ptr + base + t[:, None] * C + c[None, :], gv.to(gv_ptr.dtype.element_ty), mask=ok)
            acc_b += tl.sum(gv, 0)
            acc_a += tl.sum(gu * (v * d * inv - q * q * inv * inv), 0)
            for k in tl.static_range(K):
                at = t - (K - 1 - k) * D
                x = tl.load(
                    s_ptr + base + at[:, None] * C + c[None, :], mask=((at >= 0) & (t < T))[:, None] & live, other=0.0
                ).to(tl.float32)
                r = tl.sum(gv * x, 0)
                if k == 0:
                    w0 += r
                elif k == 1:
                    w1 += r
                elif k == 2:
                    w2 += r
                elif k == 3:
                    w3 += r
                elif k == 4:
                    w4 += r
                elif k == 5:
                    w5 += r
                else:
                    w6 += r
        out = part_ptr + tl.program_id(0) * (K + 2) * C + c
        tl.store(out, w0, mask=c < C)
        tl.store(out + C, w1, mask=c < C)
        tl.store(out + 2 * C, w2, mask=c < C)
        tl.store(out + 3 * C, w3, mask=c < C)
        tl.store(out + 4 * C, w4, mask=c < C)
        tl.store(out + 5 * C, w5, mask=c < C)
        tl.store(out + 6 * C, w6, mask=c < C)
        tl.store(out + 7 * C, acc_b, mask=c < C)
        tl.store(out + 8 * C, acc_a, mask=c < C)

    @triton.jit(do_not_specialize=["blocks", "D"])
    def _depth_bwd_s(
        gv_ptr, w_ptr, gs_ptr, T, blocks, D, C: tl.constexpr, BC: tl.constexpr, BT: tl.constexpr, K: tl.constexpr
    ):
        n, block = tl.program_id(0) // blocks, tl.program_id(0) % blocks
        c = tl.arange(0, BC)
        live = (c < C)[None, :]
        t = block * BT + tl.arange(0, BT)
        base = n.to(tl.int64) * T * C
        g = tl.zeros([BT, BC], tl.float32)
        for k in tl.static_range(K):
            at = t + (K - 1 - k) * D
            x = tl.load(gv_ptr + base + at[:, None] * C + c[None, :], mask=(at < T)[:, None] & live, other=0.0).to(
                tl.float32
            )
            g += x * tl.load(w_ptr + k * C + c, mask=c < C, other=0.0)[None, :]
        tl.store(
            gs_ptr + base + t[:, None] * C + c[None, :], g.to(gs_ptr.dtype.element_ty), mask=(t < T)[:, None] & live
        )

    # ----------------------------------------------------------------------- autograd
    def _tile(channels: int) -> tuple[int, int]:
        bc = triton.next_power_of_2(channels)
        return bc, max(8, 2048 // bc)

    class AddSnake(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, h: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x, h = x.contiguous(), h.contiguous()
            C, rows = x.shape[-1], x.numel() // x.shape[-1]
            y, s = torch.empty_like(x), torch.empty_like(x)
            bc, bt = _tile(C)
            _add_snake_fwd[(triton.cdiv(rows, bt),)](x, h, a, y, s, rows, C, bc, bt)
            ctx.save_for_backward(y, a)
            return y, s

        @staticmethod
        def backward(ctx: Any, gy: torch.Tensor, gs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y, a = ctx.saved_tensors
            gy, gs = gy.contiguous(), gs.contiguous()
            C, rows = y.shape[-1], y.numel() // y.shape[-1]
            bc, bt = _tile(C)
            loop = 4
            programs = triton.cdiv(rows, bt * loop)
            g = torch.empty_like(y)
            part = torch.empty(programs, C, device=y.device, dtype=torch.float32)
            _add_snake_bwd[(programs,)](y, gy, gs, a, g, part, rows, C, bc, bt, loop)
            return g, g, part.sum(0)

    class DepthSnake(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, s: torch.Tensor, w: torch.Tensor, b: torch.Tensor, a: torch.Tensor, dilation: int
        ) -> torch.Tensor:
            s = s.contiguous()
            B, T, C = s.shape
            bc, bt = _tile(C)
            blocks = triton.cdiv(T, bt)
            u = torch.empty_like(s)
            _depth_fwd[(B * blocks,)](s, w, b, a, u, T, blocks, dilation, C, bc, bt, TAPS)
            ctx.save_for_backward(s, w, b, a)
            ctx.dilation = dilation
            return u

        @staticmethod
        def backward(ctx: Any, gu: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            s, w, b, a = ctx.saved_tensors
            gu = gu.contiguous()
            B, T, C = s.shape
            bc, bt = _tile(C)
            loop = 4 if 16 * bt <= T else 1
            blocks = triton.cdiv(T, bt * loop)
            gv, gs = torch.empty_like(s), torch.empty_like(s)
            part = torch.empty(B * blocks, TAPS + 2, C, device=s.device, dtype=torch.float32)
            _depth_bwd_v[(B * blocks,)](s, w, b, a, gu, gv, part, T, blocks, ctx.dilation, C, bc, bt, loop, TAPS)
            blocks = triton.cdiv(T, bt)
            _depth_bwd_s[(B * blocks,)](gv, w, gs, T, blocks, ctx.dilation, C, bc, bt, TAPS)
            part = part.sum(0)
            return gs, part[:TAPS], part[TAPS], part[TAPS + 1], None


def add_snake(x: torch.Tensor, h: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return x + h and snake(x + h) of x, h [batch, time, channels] and a [channels]."""
    if triton is not None and (x.is_cuda or INTERPRET):
        return AddSnake.apply(x, h, a)
    return add_snake_twin(x, h, a)


def depth_snake(s: torch.Tensor, w: torch.Tensor, b: torch.Tensor, a: torch.Tensor, dilation: int) -> torch.Tensor:
    """Return snake(causal depthwise convolution) of s [batch, time, channels]; w [7, channels], b and a [channels]."""
    if triton is not None and (s.is_cuda or INTERPRET):
        return DepthSnake.apply(s, w, b, a, dilation)
    return depth_snake_twin(s, w, b, a, dilation)


def warm(rank: int, world: int, shapes: list[tuple[int, int]], dtype: torch.dtype) -> None:
    """Compile the kernels for every `world`-th of `shapes` (time, channels), so that processes share the work."""
    for time, channels in shapes[rank::world]:
        x, h = (torch.randn(1, time, channels, device="cuda", dtype=dtype, requires_grad=True) for _ in range(2))
        w, b, a = (torch.randn(*n, channels, device="cuda").abs().requires_grad_() for n in ((TAPS,), (), ()))
        y, s = add_snake(x, h, a)
        (depth_snake(s, w, b, a, 3).sum() + y.sum()).backward()
    torch.cuda.synchronize()


def check() -> None:
    """Compare outputs and gradients of kernels and twins on random inputs (TRITON_INTERPRET=1 on a CPU)."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.allow_tf32 = False
    worst = 0.0
    for B, T, C, dilation in ((2, 70, 24, 1), (1, 300, 32, 3), (2, 130, 96, 9), (3, 33, 256, 3), (2, 3000, 32, 9)):
        if device == "cpu" and T > 1000:
            continue
        x, h = (torch.randn(B, T, C, device=device, requires_grad=True) for _ in range(2))
        w = (0.4 * torch.randn(TAPS, C, device=device)).requires_grad_()
        b = torch.randn(C, device=device, requires_grad=True)
        a1, a2 = ((0.5 + torch.rand(C, device=device)).requires_grad_() for _ in range(2))
        r1, r2 = torch.randn_like(x), torch.randn_like(x)
        results = []
        for first, second in ((add_snake, depth_snake), (add_snake_twin, depth_snake_twin)):
            y, s = first(x, h, a1)
            u = second(s, w, b, a2, dilation)
            grads = torch.autograd.grad((y * r1).sum() + (u * r2).sum(), (x, h, w, b, a1, a2))
            results.append((y, s, u, *grads))
        for p, q in zip(*results, strict=True):
            worst = max(worst, ((p - q).norm() / q.norm()).item())
    print(f"kernels against twins on {device}: maximum relative difference {worst:.2e}")
    assert worst < 1e-4


if __name__ == "__main__":
    if len(sys.argv) > 1:  # kernels.py RANK WORLD: warm the cache for the demo codec
        cfg = common.model_config()["audio_vae_config"]
        frames = 16  # a multiple of 16, as in training, because Triton specializes for it
        shapes, time, width = [], frames * common.IN_RATE // common.FRAME_RATE, cfg["encoder_dim"]
        for rate in cfg["encoder_rates"]:
            shapes.append((time, width))
            time, width = time // rate, width * 2
        time, width = frames, cfg["decoder_dim"]
        for rate in cfg["decoder_rates"]:
            shapes.append((time, width))
            time, width = time * rate, width // 2
        shapes.append((time, width))
        warm(int(sys.argv[1]), int(sys.argv[2]), shapes, torch.bfloat16)
    else:
        check()
