"""An optimizer with flat buffers of parameters, gradients and averages: Muon for hidden matrices, AdamW for the rest.

Every parameter becomes a view of `flat`, so clipping, AdamW, the moving average and the all-reduce between GPUs take a
few kernels each, whatever the number of tensors. The whole update can be captured in a CUDA graph, because the learning
rate and the step count are tensors. Matrices of one shape are adjacent, and Muon orthogonalizes them as one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
import torch.nn as nn


def orthogonalize(g: torch.Tensor) -> torch.Tensor:
    """Bring the singular values of g [n, rows, columns] to about one by Muon's Newton-Schulz iteration."""
    x = g.bfloat16() if g.is_cuda else g
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.mT if tall else x).float()


class FlatOptimizer:
    def __init__(
        self,
        muon: Iterable[nn.Parameter],
        decay: Iterable[nn.Parameter],
        plain: Iterable[nn.Parameter],
        *,
        betas: tuple[float, float] = (0.9, 0.98),
        eps: float = 1e-9,
        momentum: float = 0.95,
        weight_decay: float = 0.05,
        clip: float = 1.0,
        ema: float = 0.9993,
    ):
        by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for p in muon:
            by_shape.setdefault(tuple(p.shape), []).append(p)
        decay, plain = list(decay), list(plain)
        self.params = [p for ps in by_shape.values() for p in ps] + decay + plain
        device = self.params[0].device
        sizes = [-(-p.numel() // 8) * 8 for p in self.params]  # every view starts on 32 bytes
        self.flat, self.grad = torch.zeros(sum(sizes), device=device), torch.zeros(sum(sizes), device=device)
        at, offsets = 0, []
        for p, n in zip(self.params, sizes, strict=True):
            view = self.flat[at : at + p.numel()].view(p.shape)
            view.copy_(p.data)
            p.data, p.grad = view, self.grad[at : at + p.numel()].view(p.shape)
            offsets.append(at)
            at += n
        self.groups: list[tuple[slice, tuple[int, ...]]] = []
        at = 0
        for shape, ps in by_shape.items():
            n = len(ps) * math.prod(shape)
            assert math.prod(shape) % 8 == 0, "Muon groups must be contiguous"
            self.groups.append((slice(at, at + n), (len(ps), *shape)))
            at += n
        self.adam = slice(at, len(self.flat))
        n_decay = sum(sizes[len(self.params) - len(decay) - len(plain) : len(self.params) - len(plain)])
        self.decayed = slice(at, at + n_decay)
        self.m, self.v = torch.zeros_like(self.flat), torch.zeros_like(self.flat[self.adam])
        self.ema_flat = self.flat.clone()
        self.lr, self.count, self.norm = (torch.zeros((), device=device) for _ in range(3))
        self.betas, self.eps, self.momentum, self.weight_decay, self.clip, self.ema = (
            betas,
            eps,
            momentum,
            weight_decay,
            clip,
            ema,
        )
        self.offsets = offsets

    def average(self, tensor: torch.Tensor | None = None) -> None:
        """Average the gradient, or `tensor`, over all processes."""
        if dist.is_initialized() and dist.get_world_size() > 1:
            tensor = self.grad if tensor is None else tensor
            dist.all_reduce(tensor)
            tensor.div_(dist.get_world_size())

    def share(self) -> None:
        """Copy the parameters of the first process to all others."""
        if dist.is_initialized() and dist.get_world_size() > 1:
            dist.broadcast(self.flat, 0)
            self.ema_flat.copy_(self.flat)

    @torch.no_grad()
    def step(self) -> None:
        self.count += 1
        torch.linalg.vector_norm(self.grad, out=self.norm)
        self.grad.mul_(torch.where(torch.isfinite(self.norm), (self.clip / (self.norm + 1e-6)).clamp(max=1.0), 0.0))
        self.grad.nan_to_num_(0.0, 0.0, 0.0)
        b1, b2 = self.betas
        g, m = self.grad[self.adam], self.m[self.adam]
        m.lerp_(g, 1 - b1)
        self.v.mul_(b2).addcmul_(g, g, value=1 - b2)
        denominator = (self.v / (1 - b2**self.count)).sqrt_().add_(self.eps)
        self.flat[self.decayed].mul_(1 - self.lr * self.weight_decay)
        self.flat[self.adam].sub_(m / denominator * (self.lr / (1 - b1**self.count)))
        for at, shape in self.groups:
            g, m = self.grad[at], self.m[at]
            m.lerp_(g, 1 - self.momentum)
            update = orthogonalize(g.lerp(m, self.momentum).view(shape)) * (0.2 * math.sqrt(max(shape[1:])))
            self.flat[at].mul_(1 - self.lr * self.weight_decay).sub_(update.reshape(-1) * self.lr)
        rate = 1 - torch.minimum(torch.full_like(self.count, self.ema), self.count / (self.count + 10))
        self.ema_flat.add_((self.flat - self.ema_flat) * rate)

    def averaged(self) -> dict[int, torch.Tensor]:
        """Return id(parameter) -> moving average."""
        return {
            id(p): self.ema_flat[o : o + p.numel()].view(p.shape)
            for p, o in zip(self.params, self.offsets, strict=True)
        }

    def state(self) -> dict[str, torch.Tensor]:
        return {k: getattr(self, k).cpu() for k in ("flat", "ema_flat", "m", "v", "count")}

    def load(self, state: dict[str, torch.Tensor]) -> None:
        for k, v in state.items():
            getattr(self, k).copy_(v.to(self.flat.device))


def graphed(step: Callable[[], None], device: str, warm: int = 3) -> Callable[[], None]:
    """Return `step` captured in a CUDA graph, or `step` itself on a CPU. It must use the same tensors on every call."""
    if not device.startswith("cuda"):
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    return graph.replay
