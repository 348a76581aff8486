from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from voxcli.errors import CheckpointError, DeviceError
from voxcli.model.device import resolve_device, resolve_dtype
from voxcli.model.folder import check_folder
from voxcli.model.weightfile import Read, Shapes, open_weights
from voxcli.model.weights import encoder_identity, load_model

PARTS = ("model.safetensors", "audiovae.safetensors")


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "model"))


def change(path: Path, **tensors: torch.Tensor | None) -> None:
    state = load_file(path)
    for name, value in tensors.items():
        name = name.replace("__", ".")
        if value is None:
            del state[name]
        else:
            state[name] = value
    save_file(state, path)


def test_fused_weights_equal_those_of_the_files(tiny_checkpoint: Path) -> None:
    model = load_model(tiny_checkpoint)
    state = load_file(tiny_checkpoint / "model.safetensors")
    layer = model.base_lm.layers[1]
    q, k, v = (state[f"base_lm.layers.1.self_attn.{name}_proj.weight"] for name in "qkv")
    assert torch.equal(layer.self_attn.qkv_proj.weight, torch.cat((q, k, v)))
    vae = load_file(tiny_checkpoint / "audiovae.safetensors")
    v, g = vae["decoder.model.0.weight_v"], vae["decoder.model.0.weight_g"]
    expected = v * g / v.flatten(1).norm(dim=1)[:, None, None]
    torch.testing.assert_close(model.audio_vae.decoder.model[0].weight.data, expected)


@pytest.mark.parametrize("wrapped", [True, False])
def test_torch_files_give_the_same_model(folder: Path, wrapped: bool) -> None:
    expected = load_model(folder).state_dict()
    for name, other in zip(PARTS, ("pytorch_model.bin", "audiovae.pth"), strict=True):
        state = load_file(folder / name)
        torch.save({"state_dict": state} if wrapped else state, folder / other)
        (folder / name).unlink()
    assert_same_weights(load_model(folder).state_dict(), expected)


def assert_same_weights(state: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert state.keys() == expected.keys()
    for name, value in state.items():
        assert torch.equal(value, expected[name]), name


def test_torch_files_in_the_old_format_are_read(folder: Path) -> None:
    expected = load_model(folder).state_dict()
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    assert_same_weights(load_model(folder).state_dict(), expected)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (5, torch.zeros(2), "5 is not a plain tensor"),
        ("stop_head.weight", torch.zeros(2, 32).to_sparse(), "'stop_head.weight' is not a plain tensor"),
        ("stop_head.weight", torch.zeros(2, 32, device="meta"), "'stop_head.weight' is not a plain tensor"),
        (
            "stop_head.weight",
            torch.zeros(2, 32, dtype=torch.int64),
            r"stop_head\.weight holds torch\.int64, not weights",
        ),
        ("stop_head.weight", torch.zeros(2, 32, dtype=torch.complex64), "holds torch.complex64, not weights"),
        ("stop_head.weight", "text", "damaged or not a weight file"),
        (
            "stop_head.weight",
            torch.zeros(1).expand(2, 32),
            "'stop_head.weight' claims more values than the file contains",
        ),
    ],
)
def test_tensors_that_are_not_weights_are_named(folder: Path, name: object, value: object, message: str) -> None:
    state: dict[object, object] = {**load_file(folder / "model.safetensors"), name: value}
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=message):
        load_model(folder)


def test_pickles_that_run_code_are_refused(folder: Path) -> None:
    (folder / "audiovae.safetensors").unlink()
    torch.save({"state_dict": {"x": Path}}, folder / "audiovae.pth")  # a class is not allowed with weights_only
    with pytest.raises(CheckpointError, match=r"audiovae\.pth: damaged or not a weight file"):
        load_model(folder)


def test_missing_surplus_and_wrong_tensors_are_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    change(path, base_lm__layers__1__self_attn__k_proj__weight=None)
    with pytest.raises(CheckpointError, match=r"tensor base_lm\.layers\.1\.self_attn\.k_proj\.weight is missing$"):
        load_model(folder)
    change(path, base_lm__layers__1__self_attn__k_proj__weight=torch.zeros(32, 31))
    with pytest.raises(
        CheckpointError, match=r"k_proj\.weight has shape \[32, 31\], but config\.json requires \[32, 32\]"
    ):
        load_model(folder)
    change(path, base_lm__layers__1__self_attn__k_proj__weight=torch.zeros(32, 32), lm_head__weight=torch.zeros(1))
    with pytest.raises(CheckpointError, match=r"tensor lm_head\.weight is not part of the model$"):
        load_model(folder)
    change(path, lm_head__weight=None, stop_head__weight=torch.zeros(2, 32, dtype=torch.int64))
    with pytest.raises(CheckpointError, match=r"tensor stop_head\.weight holds I64, not weights$"):
        load_model(folder)


def test_a_vae_without_its_training_head_is_loaded(folder: Path) -> None:
    expected = load_model(folder).state_dict()
    head = {f"encoder__fc_logvar__{leaf}": None for leaf in ("bias", "weight_g", "weight_v")}
    change(folder / "audiovae.safetensors", **head)
    assert_same_weights(load_model(folder).state_dict(), expected)


@pytest.mark.parametrize("name", [*PARTS, "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    for look in (check_folder, load_model):
        with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
            look(folder)


@pytest.mark.parametrize("name", [*PARTS, "tokenizer.json"])
def test_a_damaged_file_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"not what it says")
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)


def test_shards_are_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    with pytest.raises(CheckpointError, match="split into shards"):
        check_folder(folder)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("pickled", [False, True])
def test_weights_have_no_larger_storage_than_their_own(
    folder: Path, pickled: bool, stored: torch.dtype, dtype: str
) -> None:
    """In particular they do not keep a mapping of the file, which would hold all weights a second time."""
    state = {name: value.to(stored) for name, value in load_file(folder / "model.safetensors").items()}
    (folder / "model.safetensors").unlink()
    if pickled:
        torch.save(state, folder / "pytorch_model.bin")
    else:
        save_file(state, folder / "model.safetensors")
    for name, value in load_model(folder, device="cpu", dtype=dtype).named_parameters():
        assert value.untyped_storage().nbytes() == value.nbytes, name


def test_a_file_that_is_truncated_while_it_is_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shorten(path: Path, stack: ExitStack) -> tuple[Read, Shapes]:
        opened = open_weights(path, stack)
        path.write_bytes(path.read_bytes()[:-1000])
        return opened

    monkeypatch.setattr("voxcli.model.weights.open_weights", shorten)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: can't be read \(unexpected end of file\)"):
        load_model(folder)


def test_a_failed_mapping_is_not_reported_as_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise RuntimeError("unable to mmap 35437032 bytes from file <m>: Cannot allocate memory (12)")

    monkeypatch.setattr("voxcli.model.weightfile.safe_open", no_room)
    with pytest.raises(RuntimeError, match="unable to mmap"):
        load_model(folder)


def test_truncated_weights_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged"):
        load_model(folder)


def test_dtypes(tiny_checkpoint: Path) -> None:
    model = load_model(tiny_checkpoint, device="cpu", dtype="bfloat16")
    assert model.dtype == torch.bfloat16
    assert {p.dtype for p in model.audio_vae.parameters()} == {torch.float32}, "the audio VAE stays in float32"
    assert resolve_dtype("auto", torch.device("cpu")) == torch.float32
    assert resolve_dtype("auto", torch.device("cuda")) == torch.bfloat16
    with pytest.raises(DeviceError, match="'int8' is not one of auto, float32"):
        resolve_dtype("int8", torch.device("cpu"))


def test_unavailable_and_unknown_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert resolve_device("auto").type == "cpu"
    for name, message in (
        ("cuda", "no CUDA device"),
        ("mps", "no MPS device"),
        ("tpu", "not one of"),
        ("meta", "not one of"),
    ):
        with pytest.raises(DeviceError, match=message):
            resolve_device(name)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert str(resolve_device("auto")) == "cuda:0"
    with pytest.raises(DeviceError, match="has 2 CUDA"):
        resolve_device("cuda:2")


def test_the_identity_of_the_encoder_depends_on_its_weights_only(folder: Path) -> None:
    before = encoder_identity(folder)
    change(folder / "model.safetensors", stop_head__weight=torch.zeros(2, 32))
    change(folder / "audiovae.safetensors", decoder__model__0__bias=torch.zeros(8), encoder__fc_logvar__bias=None)
    assert encoder_identity(folder) == before, "encoded voices do not depend on the LMs or the decoder"
    state = load_file(folder / "audiovae.safetensors")
    torch.save({"state_dict": state}, folder / "audiovae.pth")
    (folder / "audiovae.safetensors").unlink()
    assert encoder_identity(folder) == before, "or on the format of the file"
    state["encoder.fc_mu.bias"] += 1e-3
    torch.save({"state_dict": state}, folder / "audiovae.pth")
    assert encoder_identity(folder) != before
