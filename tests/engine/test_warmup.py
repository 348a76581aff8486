"""The warm-up calls the same operations as an engine, and never fails."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from voxcli.engine import warmup
from voxcli.engine.warmup import WarmUp
from voxcli.kernels import ops
from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.voxcpm2 import VoxCPM2


def test_every_operation_of_the_decoder_is_called(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = ClipDecoder(tiny_model.audio_vae)
    shapes: list[tuple[str, Any]] = []
    for name in ("upsample", "residual_unit", "last_conv"):
        wrapped = getattr(ops, name)
        monkeypatch.setattr(
            ops,
            name,
            lambda x, *rest, name=name, wrapped=wrapped: shapes.append((name, x.shape[2])) or wrapped(x, *rest),
        )
    for call in warmup._calls(tiny_model, decoder):
        with torch.inference_mode():
            call()
    called = set(shapes)
    shapes.clear()
    with torch.inference_mode():
        decoder(torch.zeros(1, 5, tiny_model.config.audio_vae_config.latent_dim))
    assert called == set(shapes)


def test_errors_are_ignored(tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr(ops, "upsample", fails)
    monkeypatch.setattr(ops, "join_tokens", fails)
    warm_up = WarmUp(tiny_model, ClipDecoder(tiny_model.audio_vae))
    warm_up.wait()
    warm_up.wait()
