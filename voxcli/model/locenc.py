"""LocEnc: encodes an audio patch to one vector."""

from __future__ import annotations

import torch
from torch import nn

from voxcli.model.config import ModelConfig
from voxcli.model.transformer import Linear, Transformer


class LocEnc(nn.Module):
    def __init__(self, config: ModelConfig):
        super().__init__()
        width = config.locenc.hidden_size
        self.special_token = nn.Parameter(torch.empty(1, 1, 1, width))
        self.in_proj = Linear(config.feat_dim, width)
        self.encoder = Transformer(config.locenc, config.lm_config, config.patch_size + 1)

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        """Encode patches [batch, patch_size, feat_dim] to [batch, hidden], the output at the special token."""
        special = self.special_token[0].expand(len(patches), -1, -1)
        x = torch.cat((special, self.in_proj(patches)), 1)
        return self.encoder.local(x, slice(0, 1))[:, 0]
