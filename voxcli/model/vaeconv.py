"""Building blocks of the encoder and the decoder of the AudioVAE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from voxcli.kernels import ops

State = dict[int, torch.Tensor]  # id of a convolution -> the end of its previous input


class Snake(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(1, channels, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        alpha = self.alpha[0]
        return ops.snake(x, alpha, (alpha + 1e-9).reciprocal())


class CausalConv(nn.Conv1d):
    """A causal convolution: its padding (zeros, or the carried context) is on the left only.

    With stride 1 the padding is (kernel - 1) * dilation, with stride s and kernel 2s it is s. A convolution with kernel
    1 is computed as a matrix product on a CPU, because the sums of oneDNN's convolution depend on the number of
    threads.
    """

    def __init__(self, cin: int, cout: int, kernel: int, *, dilation: int = 1, stride: int = 1, groups: int = 1):
        super().__init__(cin, cout, kernel, dilation=dilation, stride=stride, groups=groups)
        self.context = (kernel - 1) * dilation + 1 - stride

    def forward(self, x: torch.Tensor, state: State | None = None) -> torch.Tensor:
        if self.kernel_size == (1,) and self.groups == 1 and x.is_cpu:
            assert self.bias is not None
            return ops.mix_channels(self.weight[..., 0], x).add_(self.bias[:, None])
        return super().forward(_with_context(self, x, self.context, state))


class ResidualUnit(nn.Module):
    """The layers of a residual unit. The encoder and the decoder compute it in different layouts."""

    def __init__(self, channels: int, dilation: int, groups: int):
        super().__init__()
        self.block = nn.ModuleList(
            [
                Snake(channels),
                CausalConv(channels, channels, 7, dilation=dilation, groups=groups),
                Snake(channels),
                CausalConv(channels, channels, 1),
            ]
        )


def parts(modules: Iterable[nn.Module]) -> list[Any]:
    """Return the modules of a container for unpacking, untyped: type checkers only know that they are modules."""
    return list(modules)


def _with_context(conv: nn.Module, x: torch.Tensor, context: int, state: State | None) -> torch.Tensor:
    if not context:
        return x
    before = state.get(id(conv)) if state is not None else None
    x = F.pad(x, (context, 0)) if before is None else torch.cat((before, x), -1)
    if state is not None:
        state[id(conv)] = x[..., -context:]
    return x
