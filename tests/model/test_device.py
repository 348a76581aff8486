"""The dtype that a model gets by default."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.fullsize import full_config
from voxcli.model import device
from voxcli.model.config import ModelConfig, read_config
from voxcli.model.device import LARGE, multiplies_bfloat16, resolve_dtype
from voxcli.model.size import count_parameters, empty_model
from voxcli.model.weights import load_model

CPU, CUDA, MPS = map(torch.device, ("cpu", "cuda", "mps"))


@pytest.fixture
def amx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "multiplies_bfloat16", lambda: True)


@pytest.mark.usefixtures("amx")
@pytest.mark.parametrize(
    ("name", "where", "parameters", "expected"),
    [
        ("auto", CPU, LARGE, torch.bfloat16),
        ("auto", CPU, LARGE - 1, torch.float32),
        ("auto", CPU, 0, torch.float32),
        ("auto", CUDA, 0, torch.bfloat16),
        ("auto", MPS, LARGE, torch.float32),
        ("float32", CPU, LARGE, torch.float32),
        ("float16", CPU, LARGE, torch.float16),
    ],
)
def test_dtype_on_a_processor_with_amx(name: str, where: torch.device, parameters: int, expected: torch.dtype) -> None:
    assert resolve_dtype(name, where, parameters) == expected


def test_without_amx_a_large_model_stays_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "multiplies_bfloat16", lambda: False)
    assert resolve_dtype("auto", CPU, LARGE) == torch.float32
    assert resolve_dtype("auto", CUDA, LARGE) == torch.bfloat16


def test_the_full_model_is_large_and_the_demo_voice_is_not(demo_voice: Path) -> None:
    full = empty_model(ModelConfig.model_validate(full_config()))
    assert count_parameters(full) > 2 * LARGE
    assert count_parameters(empty_model(read_config(demo_voice))) < LARGE / 10


@pytest.mark.usefixtures("amx")
def test_a_checkpoint_is_loaded_in_the_default_dtype(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_model(tiny_checkpoint, device="cpu").dtype == torch.float32
    monkeypatch.setattr(device, "LARGE", 1000)
    assert load_model(tiny_checkpoint, device="cpu").dtype == torch.bfloat16
    assert load_model(tiny_checkpoint, device="cpu", dtype="float32").dtype == torch.float32


@pytest.mark.parametrize(
    ("supported", "allowed", "used", "expected"),
    [
        (True, True, True, True),
        (False, True, True, False),  # the processor has no AMX
        (True, False, True, False),  # the operating system does not permit it
        (True, True, False, False),  # a torch without oneDNN multiplies with other code
        (None, None, True, False),  # a torch without these functions
    ],
)
def test_detection_of_amx(
    supported: bool | None, allowed: bool | None, used: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"_is_amx_tile_supported": supported, "_init_amx": allowed}
    known = {name: lambda answer=answer: answer for name, answer in answers.items() if answer is not None}
    monkeypatch.setattr(torch, "cpu", SimpleNamespace(**known))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: used)
    assert multiplies_bfloat16() is expected
