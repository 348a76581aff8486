from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.adapters import lora_tensors, write_lora
from tests.checkpoints import write_checkpoint
from voxcli.errors import CheckpointError, ModelNotFound
from voxcli.model.weights import load_model

RANK, ALPHA = 3, 6.0


@pytest.fixture
def tensors(tiny_checkpoint: Path) -> dict[str, torch.Tensor]:
    return lora_tensors(tiny_checkpoint, RANK)


@pytest.fixture
def folder(tensors: dict[str, torch.Tensor], tmp_path: Path) -> Path:
    return write_lora(tmp_path / "lora", tensors, RANK, ALPHA)


def test_weights_are_w_plus_alpha_by_r_ba(
    tiny_checkpoint: Path, folder: Path, tensors: dict[str, torch.Tensor]
) -> None:
    plain, merged = load_model(tiny_checkpoint), load_model(tiny_checkpoint, lora=folder)
    delta = {name: 2.0 * tensors[f"{name}.lora_B"] @ tensors[f"{name}.lora_A"] for name in names(tensors)}
    attention = [torch.cat([delta[f"base_lm.layers.1.self_attn.{x}_proj"] for x in "qkv"])]
    for change, pick in (
        (attention[0], lambda m: m.base_lm.layers[1].self_attn.qkv_proj.weight),
        (delta["residual_lm.layers.0.self_attn.o_proj"], lambda m: m.residual_lm.layers[0].self_attn.o_proj.weight),
        (delta["fusion_concat_proj"], lambda m: m.fusion_concat_proj.weight),
        (torch.zeros(2, 32), lambda m: m.stop_head.weight),
    ):
        torch.testing.assert_close(pick(merged) - pick(plain), change, atol=1e-6, rtol=0)


def names(tensors: dict[str, torch.Tensor]) -> set[str]:
    return {name.rpartition(".")[0] for name in tensors}


def test_mup_scales_the_merged_weights(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "mup", **{"lm_config.use_mup": True})
    tensors = lora_tensors(checkpoint, RANK)
    lora = write_lora(tmp_path / "lora", tensors, RANK, ALPHA)
    name = "base_lm.layers.0.self_attn.o_proj"
    weight = load_file(checkpoint / "model.safetensors")[f"{name}.weight"]
    expected = (weight + 2.0 * tensors[f"{name}.lora_B"] @ tensors[f"{name}.lora_A"]) * 1.4 / 2**0.5
    merged = load_model(checkpoint, lora=lora).base_lm.layers[0].self_attn.o_proj.weight
    torch.testing.assert_close(merged.data, expected, atol=1e-6, rtol=1e-5)


def test_an_adapter_of_some_layers_with_names_of_a_compiled_model(tiny_checkpoint: Path, tmp_path: Path) -> None:
    """The adapter has only q of one layer: k and v keep their bits."""
    owner = "base_lm.layers.0.self_attn.q_proj"
    tensors = {name: value for name, value in lora_tensors(tiny_checkpoint, RANK).items() if name.startswith(owner)}
    compiled = {name.replace("base_lm.", "base_lm._orig_mod."): value for name, value in tensors.items()}
    plain = load_model(tiny_checkpoint, dtype="bfloat16").base_lm.layers[0].self_attn.qkv_proj.weight
    for written in (tensors, compiled):
        lora = write_lora(tmp_path / "lora", written, RANK, ALPHA)
        merged = load_model(tiny_checkpoint, dtype="bfloat16", lora=lora).base_lm.layers[0].self_attn.qkv_proj.weight
        assert not torch.equal(merged[:64], plain[:64])
        assert torch.equal(merged[64:], plain[64:])


def test_a_torch_file_gives_the_same(tiny_checkpoint: Path, folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    expected = load_model(tiny_checkpoint, lora=folder).state_dict()
    (folder / "lora_weights.safetensors").unlink()
    torch.save({"state_dict": tensors}, folder / "lora_weights.ckpt")
    for name, value in load_model(tiny_checkpoint, lora=folder).state_dict().items():
        assert torch.equal(value, expected[name]), name


def test_pickles_that_run_code_are_refused(tiny_checkpoint: Path, folder: Path) -> None:
    (folder / "lora_weights.safetensors").unlink()
    torch.save({"state_dict": {"x": Path}}, folder / "lora_weights.ckpt")
    with pytest.raises(CheckpointError, match=r"lora_weights\.ckpt: damaged or not a weight file"):
        load_model(tiny_checkpoint, lora=folder)


def test_a_lora_of_another_model_is_named(tiny_checkpoint: Path, tmp_path: Path) -> None:
    wider = write_checkpoint(tmp_path / "wider", **{"lm_config.hidden_size": 48})
    lora = write_lora(tmp_path / "lora", lora_tensors(wider, RANK), RANK, ALPHA)
    with pytest.raises(CheckpointError) as caught:
        load_model(tiny_checkpoint, lora=lora)
    assert str(caught.value) == (
        f"{lora}: the LoRA belongs to another model (trained on openbmb/VoxCPM2): "
        "its base_lm.layers.0.self_attn.k_proj has shape [32, 48], this model's has shape [32, 32]"
    )
    deeper = write_checkpoint(tmp_path / "deeper", **{"lm_config.num_hidden_layers": 3})
    lora = write_lora(tmp_path / "lora", lora_tensors(deeper, RANK), RANK, ALPHA)
    with pytest.raises(
        CheckpointError, match=r"its base_lm\.layers\.2\.\w+\.\w+ has shape \[.*\], this model has no such layer"
    ):
        load_model(tiny_checkpoint, lora=lora)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"r": 4, "alpha": 8}, r"tensor \S+lora_A has shape \[3, \d+\], but lora_config\.json has rank 4"),
        ({"r": 0, "alpha": 8}, r"lora_config\.json: r: Input should be greater than 0"),
        ({"alpha": 8}, r"lora_config\.json: r: Field required"),
        ([], r"lora_config\.json: a LoRA's config must be a JSON object"),
    ],
)
def test_a_wrong_config_is_named(tiny_checkpoint: Path, folder: Path, config: object, message: str) -> None:
    (folder / "lora_config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=message):
        load_model(tiny_checkpoint, lora=folder)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"r": ' + "9" * 5_000 + "}", "{", "\xff"])
def test_a_config_that_is_not_json_is_named(tiny_checkpoint: Path, folder: Path, content: str) -> None:
    (folder / "lora_config.json").write_text(content, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"lora_config\.json: not readable as JSON"):
        load_model(tiny_checkpoint, lora=folder)


@pytest.mark.parametrize("name", ["lora_config.json", "lora_weights.safetensors"])
def test_a_pipe_in_place_of_a_file_is_refused(tiny_checkpoint: Path, folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        load_model(tiny_checkpoint, lora=folder)


def test_missing_parts_are_named(tiny_checkpoint: Path, folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    with pytest.raises(ModelNotFound, match="the LoRA folder does not exist"):
        load_model(tiny_checkpoint, lora=folder / "nowhere")
    half = "base_lm.layers.0.self_attn.q_proj"
    save_file({f"{half}.lora_A": tensors[f"{half}.lora_A"]}, folder / "lora_weights.safetensors")
    with pytest.raises(CheckpointError, match=rf"{half} has only its lora_A; the other matrix is missing"):
        load_model(tiny_checkpoint, lora=folder)
    save_file({f"{half}.weight": torch.zeros(3, 3)}, folder / "lora_weights.safetensors")
    with pytest.raises(CheckpointError, match=rf"tensor {half}\.weight is neither a lora_A nor a lora_B"):
        load_model(tiny_checkpoint, lora=folder)
    (folder / "lora_weights.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"lora_weights\.safetensors \(or lora_weights\.ckpt\) is missing"):
        load_model(tiny_checkpoint, lora=folder)
    (folder / "lora_config.json").unlink()
    with pytest.raises(CheckpointError, match=r"lora_config\.json is missing; it contains the scale"):
        load_model(tiny_checkpoint, lora=folder)
