"""config.json of a VoxCPM2 checkpoint, validated before anything is built from it.

Field names are those of the file (the reference package's `VoxCPMConfig`); unknown fields are ignored, as there. Upper
bounds prevent a damaged or hostile file from requesting huge amounts of memory.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from voxcli.errors import CheckpointError, ModelNotFound, quoted
from voxcli.files.read import read_regular
from voxcli.terminal import counted

Width = Annotated[int, Field(gt=0, le=65_536)]
Count = Annotated[int, Field(gt=0, le=1_024)]
MAX_BYTES = 1 << 24  # of the config file of a model or an adapter


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, protected_namespaces=())


class RopeScaling(Section):
    type: Literal["longrope"]
    long_factor: tuple[float, ...]
    short_factor: tuple[float, ...]
    original_max_position_embeddings: Annotated[int, Field(gt=1, le=10_000_000)]


class LMConfig(Section):
    """The base LM, and the settings that it shares with the other transformers."""

    hidden_size: Width
    intermediate_size: Width
    num_attention_heads: Count
    num_key_value_heads: Count
    num_hidden_layers: Count
    kv_channels: Width | None = None
    max_position_embeddings: Annotated[int, Field(gt=0, le=10_000_000)]
    rms_norm_eps: Annotated[float, Field(gt=0, lt=1)]
    rope_theta: Annotated[float, Field(gt=0, le=1e12)]
    rope_scaling: RopeScaling
    vocab_size: Annotated[int, Field(gt=104, le=4_000_000)]
    use_mup: bool = True
    scale_emb: float = 1.0
    scale_depth: float = 1.0


class EncoderConfig(Section):
    hidden_dim: Width = 1024
    ffn_dim: Width = 4096
    num_heads: Count = 16
    num_layers: Count = 4
    kv_channels: Width | None = None


class DiTConfig(EncoderConfig):
    dit_mean_mode: bool = False


class AudioVAEConfig(Section):
    """The audio VAE.

    The product of `encoder_rates` is the number of samples per latent at `sample_rate` (Hz); the product of
    `decoder_rates` is the number at `out_sample_rate` (Hz).
    """

    encoder_dim: Width = 128
    encoder_rates: Annotated[tuple[Count, ...], Field(min_length=1)] = (2, 5, 8, 8)
    latent_dim: Width = 64
    decoder_dim: Width = 2048
    decoder_rates: Annotated[tuple[Count, ...], Field(min_length=1)] = (8, 6, 5, 2, 2, 2)
    depthwise: bool = True
    sample_rate: Annotated[int, Field(gt=0, le=1_000_000)] = 16_000
    out_sample_rate: Annotated[int, Field(gt=0, le=1_000_000)] = 48_000
    use_noise_block: Literal[False] = False  # a noise block draws its own noise, so clips would not be reproducible
    sr_bin_boundaries: tuple[int, ...] | None = (20_000, 30_000, 40_000)
    cond_type: Literal["scale_bias", "scale_bias_init", "add"] = "scale_bias"
    cond_out_layer: Literal[False] = False

    @model_validator(mode="after")
    def _divisible(self) -> AudioVAEConfig:
        if self.decoder_dim % 2 ** len(self.decoder_rates):
            raise ValueError(
                f"decoder_dim {self.decoder_dim} can't be halved {counted(len(self.decoder_rates), 'time')}"
            )
        for name, rates, rate in (
            ("encoder_rates", self.encoder_rates, self.sample_rate),
            ("decoder_rates", self.decoder_rates, self.out_sample_rate),
        ):
            if math.prod(rates) > rate:
                raise ValueError(f"{name}: a latent is longer than a second ({math.prod(rates)} samples)")
        return self


class ModelConfig(Section):
    architecture: Literal["voxcpm2"]
    lm_config: LMConfig
    patch_size: Count = 4
    feat_dim: Width = 64
    residual_lm_num_layers: Count = 8
    residual_lm_no_rope: bool = False
    scalar_quantization_latent_dim: Width = 512
    scalar_quantization_scale: Annotated[int, Field(gt=0, le=1_000_000)] = 9
    encoder_config: EncoderConfig
    dit_config: DiTConfig
    audio_vae_config: AudioVAEConfig = AudioVAEConfig()
    max_length: Annotated[int, Field(gt=0, le=65_536)] = 8192  # determines the size of tables and the minimum cache
    dtype: str = "bfloat16"

    @model_validator(mode="after")
    def _consistent(self) -> ModelConfig:
        if self.feat_dim != self.audio_vae_config.latent_dim:
            raise ValueError(
                f"feat_dim {self.feat_dim} differs from the audio VAE's latent_dim {self.audio_vae_config.latent_dim}"
            )
        heads = {t.head_dim for t in (self.base_lm, self.residual_lm, self.locenc, self.locdit)}
        for dim in heads:
            for factors in (self.lm_config.rope_scaling.short_factor, self.lm_config.rope_scaling.long_factor):
                if len(factors) != dim // 2 or dim % 2:
                    raise ValueError(f"rope_scaling has {len(factors)} factors, heads of {dim} need {dim / 2:g}")
        return self

    @property
    def context(self) -> int:
        """Maximum number of positions of one request: text tokens and patches, prompt and output together."""
        return min(self.max_length, self.lm_config.max_position_embeddings)

    @property
    def base_lm(self) -> TransformerConfig:
        return self._causal(self.lm_config.num_hidden_layers, rope=True)

    @property
    def residual_lm(self) -> TransformerConfig:
        return self._causal(self.residual_lm_num_layers, rope=not self.residual_lm_no_rope)

    @property
    def locenc(self) -> TransformerConfig:
        c = self.encoder_config
        return self._transformer(c.hidden_dim, c.ffn_dim, c.num_heads, c.num_layers, c.kv_channels)

    @property
    def locdit(self) -> TransformerConfig:
        c = self.dit_config
        return self._transformer(c.hidden_dim, c.ffn_dim, c.num_heads, c.num_layers, c.kv_channels)

    def _causal(self, layers: int, rope: bool) -> TransformerConfig:
        lm = self.lm_config
        return self._transformer(
            lm.hidden_size, lm.intermediate_size, lm.num_attention_heads, layers, lm.kv_channels, rope
        )

    def _transformer(
        self, hidden: int, ffn: int, heads: int, layers: int, channels: int | None, rope: bool = True
    ) -> TransformerConfig:
        lm = self.lm_config
        return TransformerConfig(
            hidden_size=hidden,
            intermediate_size=ffn,
            num_heads=heads,
            num_kv_heads=lm.num_key_value_heads,
            num_layers=layers,
            # Not hidden / heads if kv_channels is set: in VoxCPM2 the 1024-wide parts have head_dim 128, too.
            head_dim=channels or hidden // heads,
            eps=lm.rms_norm_eps,
            rope=rope,
            depth_scale=lm.scale_depth / math.sqrt(layers) if lm.use_mup else 1.0,
        )


class TransformerConfig(Section):
    """The shape of one of the four transformers. depth_scale: muP's scale of each residual branch."""

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    num_layers: int
    head_dim: int
    eps: float
    rope: bool
    depth_scale: float


def read_config(folder: Path) -> ModelConfig:
    """Read and validate `folder`/config.json.

    Raises ModelNotFound if the folder does not exist, CheckpointError if the file is missing, damaged or of another
    model.
    """
    path = folder / "config.json"
    if not os.path.isdir(folder):
        raise ModelNotFound(f"{folder}: the checkpoint folder does not exist")
    try:
        data = json.loads(read_regular(path, MAX_BYTES).decode())
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: config.json is missing") from None
    except (OSError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, not JSON, too many digits
        raise CheckpointError(f"{path}: not readable as JSON ({error})") from None
    found = data.get("architecture", "voxcpm") if isinstance(data, dict) else None
    if found != "voxcpm2":
        raise CheckpointError(f"{folder}: architecture is {quoted(found)}; only 'voxcpm2' checkpoints are supported")
    try:
        return ModelConfig.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "config"
        raise CheckpointError(f"{path}: {where}: {first['msg']}") from None
