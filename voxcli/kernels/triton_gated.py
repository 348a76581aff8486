"""The gate and up products of an MLP fused with SiLU(gate) * up, so that the products are not written to memory.

A persistent kernel for many rows: one program per multiprocessor loops over tiles of the result, and the tensor memory
accelerator (TMA) of Hopper and newer GPUs copies the tiles of x and of the weights. cuBLAS multiplies a little faster,
but its result, 46 MB for a layer of LocDiT with 128 requests, has to be written and read again. On an H200 cuBLAS and a
separate kernel take 89 us together, this kernel 76 us.

The last round of tiles may occupy few programs: with 128 requests LocDiT has 704 tiles, 5.33 for each of 132 programs.
If twice the rest fits, it is computed in halves, with the same bits. That saves 0.12 of 18.5 ms there.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait

from voxcli.kernels.torch_ops import Rms
from voxcli.kernels.triton_ops import pdl_options, row_scales

try:
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:  # an older Triton
    TensorDescriptor = None

# A tile of the result has ROWS rows and PAIRS columns each of gate and up. INNER is the width of the tiles of x and of
# the weights that are copied at a time.
ROWS, PAIRS, INNER, WARPS, STAGES = 128, 128, 64, 8, 4
MIN_ROWS = 1024  # with fewer rows some multiprocessors have no tile


@triton.jit
def _tile(
    x_desc,
    weight_desc,
    out_desc,
    scale_ptr,
    rows,
    row,
    column,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    PAIRS: tl.constexpr,
    INNER: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """Compute the tile of the result that begins at (row, column)."""
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


@triton.jit(do_not_specialize=["rows"])
def _gated_kernel(
    x_desc,
    weight_desc,
    out_desc,
    half_weight_desc,
    half_out_desc,
    scale_ptr,
    rows,
    columns,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    PAIRS: tl.constexpr,
    INNER: tl.constexpr,
    HALVES: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """weight_desc: [2, columns, width]. A block of it holds the weights of gate and of up for the same columns.

    HALVES: the tiles of the last round, which are too few for all programs, are computed in halves.
    """
    row_tiles = tl.cdiv(rows, ROWS)
    tiles = row_tiles * (columns // PAIRS)
    programs = tl.num_programs(0)
    whole = tiles // programs * programs if HALVES else tiles
    for tile in tl.range(tl.program_id(0), whole, programs, flatten=True):
        row, column = tile % row_tiles * ROWS, tile // row_tiles * PAIRS
        _tile(x_desc, weight_desc, out_desc, scale_ptr, rows, row, column, WIDTH, ROWS, PAIRS, INNER, OVERLAP)
    if HALVES:
        half: tl.constexpr = PAIRS // 2
        for part in tl.range(tl.program_id(0), 2 * (tiles - whole), programs, flatten=True):
            tile = whole + part // 2
            row, column = tile % row_tiles * ROWS, tile // row_tiles * PAIRS + part % 2 * half
            _tile(
                x_desc, half_weight_desc, half_out_desc, scale_ptr, rows, row, column, WIDTH, ROWS, half, INNER, OVERLAP
            )


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
    out, scale = x.new_empty(count, columns), row_scales(Rms(x, eps))
    weight = gate_up.view(2, columns, width)
    tiles = triton.cdiv(count, ROWS) * (columns // PAIRS)
    programs = min(tiles, _processors(x.device.index))
    _gated_kernel[(programs,)](
        TensorDescriptor.from_tensor(x, [ROWS, INNER]),
        TensorDescriptor.from_tensor(weight, [2, PAIRS, INNER]),
        TensorDescriptor.from_tensor(out, [ROWS, PAIRS]),
        TensorDescriptor.from_tensor(weight, [2, PAIRS // 2, INNER]),
        TensorDescriptor.from_tensor(out, [ROWS, PAIRS // 2]),
        scale,
        count,
        columns,
        WIDTH=width,
        ROWS=ROWS,
        PAIRS=PAIRS,
        INNER=INNER,
        HALVES=0 < 2 * (tiles % programs) <= programs,
        num_warps=WARPS,
        num_stages=STAGES,
        **pdl_options(x),
    )
    return out
