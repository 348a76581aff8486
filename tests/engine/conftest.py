from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkpoints import write_checkpoint
from voxcli.model.voxcpm2 import VoxCPM2
from voxcli.model.weights import load_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> VoxCPM2:
    folder: Path = write_checkpoint(tmp_path_factory.mktemp("engine") / "tiny")
    return load_model(folder, device="cpu")
