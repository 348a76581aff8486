"""The MiniCPM4 block, of which all four transformers of VoxCPM2 consist, in its two uses.

Causal: the base LM and the residual LM attend over paged caches, on a packed axis of tokens of many requests.
Local: LocEnc and LocDiT attend among the few tokens of one patch, without a mask.

Query, key and value weights are one matrix, gate and up weights another. The residual scale of muP is folded into
o_proj and down_proj when the weights are loaded, so the forward pass does not contain it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from voxcli.kernels import ops
from voxcli.kernels.attention import PagedAttention, PagedBatch
from voxcli.model.config import LMConfig, TransformerConfig

FEW_TOKENS = 64  # up to this number of tokens a product is bound by reading its weights


def empty_embedding(rows: int, width: int) -> nn.Embedding:
    """Return an uninitialized embedding.

    nn.Embedding(rows, width) would fill it with random numbers, which on the meta device takes 1.5 s, because it
    imports torch's compiler.
    """
    return nn.Embedding.from_pretrained(torch.empty(rows, width))


class RMSNorm(nn.Module):
    """RMS normalization. weight: None after it has been folded into the following matrix."""

    weight: nn.Parameter | None

    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, self.weight, self.eps)

    def fold_into(self, matrix: nn.Linear) -> None:
        """Fold the weight into the columns of the matrix that follows the normalization."""
        assert self.weight is not None
        folded = (matrix.weight.float() * self.weight.float()).to(matrix.weight.dtype)
        matrix.weight = nn.Parameter(folded, requires_grad=False)
        self.weight = None


class Rope(nn.Module):
    """LongRoPE tables: cos and sin, float32[positions, head_dim].

    Source: `MiniCPMLongRoPE` of the reference package (Ding et al. 2024, "LongRoPE"). If the model's maximum length
    exceeds the original one, the long factors are used for all positions.
    """

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, lm: LMConfig, head_dim: int, positions: int):
        super().__init__()
        self.lm, self.head_dim, self.positions = lm, head_dim, positions
        self.register_buffer("cos", torch.empty(0), persistent=False)
        self.register_buffer("sin", torch.empty(0), persistent=False)

    def build(self, device: torch.device) -> None:
        """Compute the tables. Called after the weights are loaded, because modules are created on the meta device."""
        scaling = self.lm.rope_scaling
        longer = self.lm.max_position_embeddings / scaling.original_max_position_embeddings
        factor = math.sqrt(1 + math.log(longer) / math.log(scaling.original_max_position_embeddings))
        factors = torch.tensor(scaling.long_factor if longer > 1 else scaling.short_factor, dtype=torch.float32)
        inverse = 1.0 / (self.lm.rope_theta ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        angles = torch.outer(torch.arange(self.positions, dtype=torch.float32), 1.0 / factors) * inverse
        angles = torch.cat((angles, angles), -1)
        self.cos = (angles.cos() * factor).to(device)
        self.sin = (angles.sin() * factor).to(device)


class Linear(nn.Linear):
    """A linear layer whose rows do not depend on each other, to the last bit; see `torch_ops`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.linear(x, self.weight, self.bias)


class QKVLinear(nn.Linear):
    """Query, key and value weights as one matrix. rows: the number of rows of each, in this order."""

    def __init__(self, config: TransformerConfig):
        kv = config.num_kv_heads * config.head_dim
        self.rows = [config.num_heads * config.head_dim, kv, kv]
        super().__init__(config.hidden_size, sum(self.rows), bias=False)


class Attention(nn.Module):
    """Attention, including the normalization before it and the residual addition after it.

    Both are fused with matrix products, so they belong to this module.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        self.qkv_proj = QKVLinear(config)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def causal(
        self,
        x: torch.Tensor,
        norm: RMSNorm,
        rope: tuple[torch.Tensor, torch.Tensor] | None,
        attend: PagedAttention,
        cache: torch.Tensor,
        batch: PagedBatch,
    ) -> torch.Tensor:
        qkv, rms = ops.norm_linear(x, norm.weight, norm.eps, self.qkv_proj.weight)
        qkv = qkv.unflatten(-1, (-1, self.head_dim))
        q = ops.rope_and_write(qkv, self.heads, rope, batch.positions, batch.slots, cache, rms)
        return ops.linear_add(x, attend(q, cache, batch).flatten(-2), self.o_proj.weight)

    def local(self, x: torch.Tensor, norm: RMSNorm, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        qkv, rms = ops.norm_linear(x, norm.weight, norm.eps, self.qkv_proj.weight)
        q, k, v = qkv.view(*x.shape[:2], -1, self.head_dim).split((self.heads, self.kv_heads, self.kv_heads), -2)
        attended = ops.local_attention(q, k, v, cos, sin, 0, rms)
        return ops.linear_add(x, attended.flatten(-2).flatten(0, -2), self.o_proj.weight)

    def local_kept(
        self, x: torch.Tensor, keep: slice, norm: RMSNorm, cos: torch.Tensor, sin: torch.Tensor
    ) -> torch.Tensor:
        """Like `local`, but return only the tokens `keep`; the others are used as keys and values only."""
        rows = self.heads * self.head_dim
        of_q, of_kv = self.qkv_proj.weight[:rows], self.qkv_proj.weight[rows:]
        kept = x[:, keep].contiguous()
        q, _ = ops.norm_linear(kept, norm.weight, norm.eps, of_q)
        kv, rms = ops.norm_linear(x, norm.weight, norm.eps, of_kv)
        q = q.view(*kept.shape[:2], -1, self.head_dim)
        k, v = kv.view(*x.shape[:2], -1, self.head_dim).chunk(2, -2)
        attended = ops.local_attention(q, k, v, cos, sin, keep.indices(x.shape[1])[0], rms)
        return ops.linear_add(kept, attended.flatten(-2).flatten(0, -2), self.o_proj.weight)


class MLP(nn.Module):
    """The gated MLP, including the normalization before it and the residual addition after it, as in `Attention`."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: torch.Tensor, norm: RMSNorm) -> torch.Tensor:
        gated = ops.norm_gated_linear(x, norm.weight, norm.eps, self.gate_up_proj.weight)
        return ops.linear_add(x, gated, self.down_proj.weight)


class Layer(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.eps)
        self.mlp = MLP(config)

    def fold_norms(self) -> None:
        """Fold the norms' weights into the matrices, so that the norms need no kernels of their own (see `ops.Rms`)."""
        self.input_layernorm.fold_into(self.self_attn.qkv_proj)
        self.post_attention_layernorm.fold_into(self.mlp.gate_up_proj)


class Transformer(nn.Module):
    """A transformer that is used through either `causal` or `local`.

    rope_positions: the maximum sequence length.
    vocab_size:     of the token embedding; 0: the transformer has none.
    """

    def __init__(self, config: TransformerConfig, lm: LMConfig, rope_positions: int, vocab_size: int = 0):
        super().__init__()
        self.config = config
        if vocab_size:
            self.embed_tokens = empty_embedding(vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.eps)
        self.rope = Rope(lm, config.head_dim, rope_positions) if config.rope else None

    @property
    def _typed_layers(self) -> Sequence[Layer]:
        """`layers` with the type that ModuleList does not have."""
        return cast("Sequence[Layer]", self.layers)

    def causal(self, x: torch.Tensor, attend: PagedAttention, caches: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        """Process N new tokens of many requests and write their keys and values to the caches.

        x: [N, hidden]; caches: [layers, 2, pages, page_size, kv_heads, dim]. Returns [N, hidden].
        """
        rope = (self.rope.cos, self.rope.sin) if self.rope else None
        x = x.clone()  # the residual stream is added to in place
        for layer, cache in zip(self._typed_layers, caches, strict=True):
            x = layer.self_attn.causal(x, layer.input_layernorm, rope, attend, cache, batch)
            x = layer.mlp(x, layer.post_attention_layernorm)
        return self.norm(x)

    def local(self, x: torch.Tensor, keep: slice) -> torch.Tensor:
        """Process sequences x [batch, tokens, hidden], which are overwritten, and return the tokens `keep` of each."""
        assert self.rope is not None, "local transformers need rotary positions"
        cos, sin = self.rope.cos, self.rope.sin
        # With few tokens a product is bound by its weights: dropping tokens would save nothing but split a product.
        keep_all = x.is_cuda and x.shape[0] * x.shape[1] <= FEW_TOKENS
        for layer in self._typed_layers:
            if layer is self.layers[-1] and not keep_all:
                x = layer.self_attn.local_kept(x, keep, layer.input_layernorm, cos, sin)
            else:
                x = layer.self_attn.local(x, layer.input_layernorm, cos, sin)
            x = layer.mlp(x, layer.post_attention_layernorm)
        return self.norm(x[:, keep] if keep_all else x)
