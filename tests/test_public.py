"""All public names can be imported, and importing the package does not import torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import voxcli


def test_every_public_name_can_be_imported() -> None:
    assert voxcli.__all__ == [
        "CheckOptions",
        "Clip",
        "Engine",
        "EngineConfig",
        "Request",
        "Sampling",
        "Speech",
        "SpeechOptions",
        "SpeechStream",
        "TTS",
        "Voice",
        "VoxError",
        "VoxWarning",
        "build_prompt",
        "load",
        "load_model",
    ]
    for name in voxcli.__all__:
        assert getattr(voxcli, name).__name__ == name
        assert getattr(voxcli, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = voxcli.nothing


def test_the_example_in_the_docstring(tiny_checkpoint: Path) -> None:
    model = voxcli.load_model(tiny_checkpoint)
    prompt = voxcli.build_prompt(model.tokenizer, "Hello there.", patch_shape=model.patch_shape)
    (clip,) = voxcli.Engine(model).generate([voxcli.Request("hello", prompt, voxcli.Sampling(seed=1))])
    assert clip.request_id == "hello" and clip.audio is not None
    assert len(clip.audio) == clip.patches * model.patch_samples


def test_dir_shows_the_public_names() -> None:
    assert [name for name in dir(voxcli) if not name.startswith("_")] == voxcli.__all__


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, voxcli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
