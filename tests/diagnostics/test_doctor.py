"""The findings of `voxcpm2 doctor` about a model: where it is, its memory, and whether bytes are reproducible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checkpoints import write_tokenizer
from tests.fullsize import full_config
from voxcli.cli.main import run
from voxcli.diagnostics import doctor
from voxcli.diagnostics.doctor import Finding, examine
from voxcli.engine import exactness
from voxcli.engine.exactness import Exactness
from voxcli.kernels.exact import PLAIN


def shown(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return mark, name and the rest of each line."""
    return [[line[:2], line[4:20].strip(), line[21:]] for line in capsys.readouterr().out.splitlines()]


def test_a_named_model_is_the_one_that_speaks(
    capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXCPM2_MODEL", "nowhere")
    assert run(["doctor", "--model", str(tiny_checkpoint)]) == 0
    lines = shown(capsys)
    assert ["ok", "--model", str(tiny_checkpoint)] in lines
    assert ["ok", "speaks with", str(tiny_checkpoint)] in lines
    assert not any("nowhere" in rest for *_, rest in lines), "--model overrides the variable"


@pytest.mark.parametrize(
    ("option", "variable", "label"), [(["--model", "nowhere"], None, "--model"), ([], "nowhere", "VOXCPM2_MODEL")]
)
def test_a_model_folder_that_is_not_there_is_missing(
    option: list[str],
    variable: str | None,
    label: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if variable is not None:
        monkeypatch.setenv("VOXCPM2_MODEL", variable)
    assert run(["doctor", *option]) == 3
    reason = f"{label}: nowhere does not exist (or name a model id like openbmb/VoxCPM2)"
    assert shown(capsys)[-1] == ["!!", label, reason]


def test_a_model_that_lacks_a_file_is_missing(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_bytes((tiny_checkpoint / "config.json").read_bytes())
    assert run(["doctor", "--model", str(tmp_path)]) == 3
    assert shown(capsys)[-1] == ["!!", "--model", f"{tmp_path}: tokenizer.json is missing"]


@pytest.fixture(scope="module")
def full_size(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the full model until a weight is read."""
    folder = tmp_path_factory.mktemp("full-size")
    (folder / "config.json").write_text(json.dumps(full_config()))
    write_tokenizer(folder, 400)
    for name in ("model.safetensors", "audiovae.safetensors"):
        (folder / name).touch()
    return folder


def of_the_full_model(folder: Path, monkeypatch: pytest.MonkeyPatch, *, amx: bool, gib: float) -> dict[str, Finding]:
    """Return findings by name, memory by dtype. amx: whether the CPU has AMX.  gib: its memory."""
    monkeypatch.setattr("voxcli.model.device.multiplies_bfloat16", lambda: amx)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(doctor, "total_memory", lambda: int(gib * 2**30))
    monkeypatch.setattr(exactness, "_run_trials", lambda model, products: {"a": PLAIN})
    monkeypatch.setattr(exactness, "same_with_any_threads", lambda model: True)
    findings = list(examine(str(folder)))
    memory = {f"memory {f.detail.split()[3].rstrip(',')}": f for f in findings if f.what == "memory"}
    return memory | {finding.what: finding for finding in findings if finding.what != "memory"}


def test_the_full_models_memory(full_size: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_the_full_model(full_size, monkeypatch, amx=False, gib=8)
    assert found["memory float32"] == Finding("memory", "note", "9.4 GiB in float32 (--dtype auto), 8.0 GiB in total")
    assert found["memory bfloat16"] == Finding("memory", "ok", "5.1 GiB in bfloat16, 8.0 GiB in total")
    assert found["same bytes"].state == "ok"


def test_on_a_processor_with_amx_auto_is_bfloat16_which_is_not_exact(
    full_size: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = of_the_full_model(full_size, monkeypatch, amx=True, gib=16)
    assert found["memory float32"] == Finding("memory", "ok", "9.4 GiB in float32, 16.0 GiB in total")
    assert found["memory bfloat16"] == Finding("memory", "ok", "5.1 GiB in bfloat16 (--dtype auto), 16.0 GiB in total")
    assert found["same bytes"] == Finding(
        "same bytes", "note", "last bits depend on the rest of the batch (in bfloat16)", "--dtype float32"
    )


def test_float32_is_recommended_only_where_it_is_exact(full_size: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactness, "examine", lambda model: Exactness({"a": None}, 1, model.dtype))
    found = of_the_full_model(full_size, monkeypatch, amx=True, gib=16)
    assert (found["same bytes"].state, found["same bytes"].remedy) == ("note", "")
