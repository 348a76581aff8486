"""The gate and up products of an MLP fused with SiLU(gate) * up, so that the products are not written to memory.

A persistent kernel for many rows: one program per multiprocessor loops over tiles of the result, and the tensor memory
accelerator (TMA) of Hopper and newer GPUs copies the tiles of x and of the weights. cuBLAS multiplies a little faster,
but its result, 46 MB for a layer of LocDiT with 128 requests, has to be written and read again. On an H200 cuBLAS and a
separate kernel take 89 us together, this kernel 76 us.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from voxcli.kernels.triton_ops import inverse_rms, pdl_options

try:
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:  # an older Triton
    TensorDescriptor = None

# A tile of the result has ROWS rows and PAIRS columns each of gate and up. INNER is the width of the tiles of x and of
# the weights that are copied at a time.
ROWS, PAIRS, INNER, WARPS, STAGES = 128, 128, 64, 8, 4
MIN_ROWS = 1024  # with fewer rows some multiprocessors have no tile


@triton.jit
def _scale_kernel(x_ptr, scale_ptr, eps, WIDTH: tl.constexpr, OVERLAP: tl.constexpr):
    """Store 1 / root mean square of each row, float32."""
    if OVERLAP:
        # Wait first: the next kernel may then start early and read x before its own wait, though not `scale`.
        gdc_wait()
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    tl.store(scale_ptr + row, inverse_rms(x_ptr + row * WIDTH, eps, WIDTH))


@triton.jit(do_not_specialize=["rows"])
def _gated_kernel(
    x_desc,
    weight_desc,
    out_desc,
    scale_ptr,
    rows,
    columns,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    PAIRS: tl.constexpr,
    INNER: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """weight_desc: [2, columns, width]. A block of it holds the weights of gate and of up for the same columns."""
    row_tiles = tl.cdiv(rows, ROWS)
    tiles = row_tiles * (columns // PAIRS)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row = tile % row_tiles * ROWS
        column = tile // row_tiles * PAIRS
        both = tl.zeros((ROWS, 2 * PAIRS), tl.float32)
        for start in range(0, WIDTH, INNER):
            x = x_desc.load([row, start])
            weight = weight_desc.load([0, column, start]).reshape(2 * PAIRS, INNER)
            both = tl.dot(x, weight.T, both)
        gate, up = tl.split(tl.permute(tl.reshape(both, (ROWS, 2, PAIRS)), (0, 2, 1)))
        if OVERLAP:
            gdc_wait()  # for `scale`; x was complete before this kernel was launched
        index = row + tl.arange(0, ROWS)
        scale = tl.load(scale_ptr + index, mask=index < rows, other=0.0)[:, None]
        gate, up = gate * scale, up * scale
        out_desc.store([row, column], (gate / (1.0 + tl.exp(-gate)) * up).to(out_desc.dtype))


@cache
def _processors(index: int | None) -> int:
    """Return the number of multiprocessors of a GPU with TMA; 0 for an older one."""
    properties = torch.cuda.get_device_properties(index)
    return properties.multi_processor_count if properties.major >= 9 else 0


def fits(x: torch.Tensor, gate_up: torch.Tensor) -> bool:
    """Return whether `gated` supports these tensors and is faster than separate kernels."""
    if TensorDescriptor is None or not x.is_cuda or x.numel() < MIN_ROWS * x.shape[-1]:
        return False
    whole = len(gate_up) % (2 * PAIRS) == 0 and x.shape[-1] % INNER == 0
    return whole and x.element_size() == 2 and x.is_contiguous() and _processors(x.device.index) > 0


def gated(x: torch.Tensor, eps: float, gate_up: torch.Tensor) -> torch.Tensor:
    """Return SiLU(gate) * up of x, each row divided by its root mean square: [N, columns], one row for each row of x.

    x: [..., width]; gate_up: [2 * columns, width], the gate's weights before up's. `fits` must be true.
    """
    x = x.view(-1, x.shape[-1])
    (count, width), columns = x.shape, len(gate_up) // 2
    out, scale = x.new_empty(count, columns), x.new_empty(count, dtype=torch.float32)
    _scale_kernel[(count,)](x, scale, eps, WIDTH=width, num_warps=1, **pdl_options(x))
    tiles = triton.cdiv(count, ROWS) * (columns // PAIRS)
    _gated_kernel[(min(tiles, _processors(x.device.index)),)](
        TensorDescriptor.from_tensor(x, [ROWS, INNER]),
        TensorDescriptor.from_tensor(gate_up.view(2, columns, width), [2, PAIRS, INNER]),
        TensorDescriptor.from_tensor(out, [ROWS, PAIRS]),
        scale,
        count,
        columns,
        WIDTH=width,
        ROWS=ROWS,
        PAIRS=PAIRS,
        INNER=INNER,
        num_warps=WARPS,
        num_stages=STAGES,
        **pdl_options(x),
    )
    return out
