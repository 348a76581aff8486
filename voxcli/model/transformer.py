"""The MiniCPM4 block that all four transformers of VoxCPM2 are made of, in its two uses.

Causal over pages: the base LM and the residual LM, on a packed axis of tokens of many requests.
Local: LocEnc and LocDiT, a few tokens of one patch, every token seeing every other.

Query, key and value weights are one matrix, gate and up weights another. With muP the residual scale is folded into
o_proj and down_proj when the weights are loaded, so the forward pass does not know it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from voxcli.kernels.attention import PagedAttention, PagedBatch, dense_attention
from voxcli.kernels.elementwise import rms_norm, rotate, silu_mul
from voxcli.model.config import LMConfig, TransformerConfig


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return rms_norm(x, self.weight, self.eps)


class Rope(nn.Module):
    """LongRoPE tables: cos and sin, float32 [positions, 1, head_dim].

    Source: `MiniCPMLongRoPE` of the reference package (Ding et al. 2024, "LongRoPE"): the long factors hold for every
    position as soon as the model's maximum exceeds the original one.
    """

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, lm: LMConfig, head_dim: int, positions: int):
        super().__init__()
        self.lm, self.head_dim, self.positions = lm, head_dim, positions
        self.register_buffer("cos", torch.empty(0), persistent=False)
        self.register_buffer("sin", torch.empty(0), persistent=False)

    def build(self, device: torch.device) -> None:
        """Compute the tables (called once the weights are there: modules are first made without memory)."""
        scaling = self.lm.rope_scaling
        longer = self.lm.max_position_embeddings / scaling.original_max_position_embeddings
        factor = math.sqrt(1 + math.log(longer) / math.log(scaling.original_max_position_embeddings))
        factors = torch.tensor(scaling.long_factor if longer > 1 else scaling.short_factor, dtype=torch.float32)
        inverse = 1.0 / (self.lm.rope_theta ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        angles = torch.outer(torch.arange(self.positions, dtype=torch.float32), 1.0 / factors) * inverse
        angles = torch.cat((angles, angles), -1)[:, None]
        self.cos = (angles.cos() * factor).to(device)
        self.sin = (angles.sin() * factor).to(device)


class QKVLinear(nn.Linear):
    """Query, key and value weights as one matrix; `rows` of each in this order."""

    def __init__(self, config: TransformerConfig):
        kv = config.num_kv_heads * config.head_dim
        self.rows = [config.num_heads * config.head_dim, kv, kv]
        super().__init__(config.hidden_size, sum(self.rows), bias=False)


class Attention(nn.Module):
    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        self.qkv_proj = QKVLinear(config)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def qkv(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """[..., hidden] to q [..., heads, dim] and k, v [..., kv_heads, dim]."""
        heads = self.qkv_proj(x).unflatten(-1, (-1, self.head_dim))
        return heads.split((self.heads, self.kv_heads, self.kv_heads), -2)

    def query(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.qkv_proj.weight[: self.heads * self.head_dim]
        return F.linear(x, weight).unflatten(-1, (-1, self.head_dim))

    def key_value(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weight = self.qkv_proj.weight[self.heads * self.head_dim :]
        return F.linear(x, weight).unflatten(-1, (-1, self.head_dim)).chunk(2, -2)


class MLP(nn.Module):
    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(silu_mul(self.gate_up_proj(x)))


class Layer(nn.Module):
    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.eps)
        self.mlp = MLP(config)

    def causal(
        self,
        x: torch.Tensor,
        rope: tuple[torch.Tensor, torch.Tensor] | None,
        attend: PagedAttention,
        cache: torch.Tensor,
        batch: PagedBatch,
    ) -> torch.Tensor:
        q, k, v = self.self_attn.qkv(self.input_layernorm(x))
        if rope is not None:
            q, k = rotate(q, *rope), rotate(k, *rope)
        x = x + self.self_attn.o_proj(attend(q, k, v, cache, batch).flatten(-2))
        return x + self.mlp(self.post_attention_layernorm(x))

    def local(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, keep: slice | None) -> torch.Tensor:
        """`keep`: the tokens whose outputs are wanted. The others only serve as keys and values."""
        normed = self.input_layernorm(x)
        if keep is None:
            q, k, v = self.self_attn.qkv(normed)
            q = rotate(q, cos, sin)
        else:
            k, v = self.self_attn.key_value(normed)
            q = rotate(self.self_attn.query(normed[:, keep]), cos[keep], sin[keep])
            x = x[:, keep]
        attended = dense_attention(q, rotate(k, cos, sin), v)
        x = x + self.self_attn.o_proj(attended.flatten(-2))
        return x + self.mlp(self.post_attention_layernorm(x))


class Transformer(nn.Module):
    """`causal` or `local`, never both; `rope_positions` is the longest sequence it will see."""

    def __init__(self, config: TransformerConfig, lm: LMConfig, rope_positions: int, vocab_size: int = 0):
        super().__init__()
        self.config = config
        if vocab_size:
            self.embed_tokens = nn.Embedding(vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.eps)
        self.rope = Rope(lm, config.head_dim, rope_positions) if config.rope else None

    def causal(self, x: torch.Tensor, attend: PagedAttention, caches: torch.Tensor, batch: PagedBatch) -> torch.Tensor:
        """x: [N, hidden], new tokens of many requests packed; caches: [layers, 2, pages, page_size, kv_heads, dim]."""
        rope = (self.rope.cos[batch.positions], self.rope.sin[batch.positions]) if self.rope else None
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer.causal(x, rope, attend, cache, batch)
        return self.norm(x)

    def local(self, x: torch.Tensor, keep: slice) -> torch.Tensor:
        """x: [batch, tokens, hidden]; returns the kept tokens: in the last layer the others need no output."""
        assert self.rope is not None, "local transformers have rotary positions"
        cos, sin = self.rope.cos[: x.shape[1]], self.rope.sin[: x.shape[1]]
        for layer in self.layers[:-1]:
            x = layer.local(x, cos, sin, None)
        return self.norm(self.layers[-1].local(x, cos, sin, keep))
