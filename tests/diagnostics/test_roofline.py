"""Compare the counts with the model's parameters and with the known sizes of VoxCPM2."""

from __future__ import annotations

import pytest
import torch

from tests.checkpoints import tiny_config
from voxcli.diagnostics.roofline import Cost, Rates, measure_rates, parameters, step_costs
from voxcli.model.config import ModelConfig
from voxcli.model.random import VOXCPM2
from voxcli.model.solver import Solver
from voxcli.model.transformer import Transformer
from voxcli.model.voxcpm2 import VoxCPM2

FULL = ModelConfig.model_validate(VOXCPM2)


@pytest.mark.parametrize("config", [ModelConfig.model_validate(tiny_config()), FULL], ids=["tiny", "full"])
def test_parameters_are_those_of_the_model(config: ModelConfig) -> None:
    with torch.device("meta"):
        model = VoxCPM2(config)

    def matrices(part: Transformer) -> int:
        return sum(p.numel() for layer in part.layers for p in layer.parameters() if p.ndim == 2)

    assert parameters(config.base_lm) == matrices(model.base_lm)
    assert parameters(config.residual_lm) == matrices(model.residual_lm)
    assert parameters(config.locenc) == matrices(model.feat_encoder.encoder)
    assert parameters(config.locdit) == matrices(model.feat_decoder.estimator.decoder)
    glue = step_costs(config, 1, Solver("euler", 10), 0, torch.bfloat16)["LMs"].bytes / 2 - parameters(config.base_lm)
    names = (
        "fsq_layer",
        "enc_to_lm_proj",
        "lm_to_dit_proj",
        "res_to_dit_proj",
        "fusion_concat_proj",
        "stop_proj",
        "stop_head",
    )
    expected = sum(p.numel() for n in names for p in getattr(model, n).parameters() if p.ndim == 2)
    assert glue - parameters(config.residual_lm) == expected


def test_sizes_of_the_full_model() -> None:
    assert parameters(FULL.base_lm) == pytest.approx(1321e6, rel=1e-3)
    assert parameters(FULL.residual_lm) == pytest.approx(378e6, rel=2e-3)
    assert parameters(FULL.locdit) == pytest.approx(212e6, rel=0.03)  # without its time embeddings
    costs = step_costs(FULL, 1, Solver("ab2", 10), 100, torch.bfloat16)
    without_audio = [cost for name, cost in costs.items() if name != "audio decode"]
    assert sum(cost.bytes for cost in without_audio) == pytest.approx(7.7e9, rel=0.02), "one step reads 7.7 GB"
    assert sum(cost.flops for cost in without_audio) == pytest.approx(90e9, rel=0.05), (
        "one step computes 90 GFLOP per request"
    )


def test_the_slower_of_two_bounds_counts() -> None:
    rates = Rates(bytes_per_s=100, flops=1000)
    assert Cost(bytes=50, flops=100).seconds(rates) == 0.5
    assert Cost(bytes=5, flops=2000).seconds(rates) == 2.0


def test_rates_are_measured() -> None:
    rates = measure_rates(torch.device("cpu"), torch.float32)
    assert 1e8 < rates.bytes_per_s < 1e13 and 1e8 < rates.flops < 1e14
