"""Checkpoints and voices for both the reference package and this one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.checkpoints import write_checkpoint

VARIANTS = {
    "tiny": {},
    # muP, RoPE in the residual LM, the short rope factors, patches of 12 values (noise is drawn patch by patch)
    "mup": {
        "lm_config.use_mup": True,
        "residual_lm_no_rope": False,
        "lm_config.max_position_embeddings": 256,
        "feat_dim": 6,
        "audio_vae_config.latent_dim": 6,
    },
}


@pytest.fixture(scope="session", params=list(VARIANTS))
def random_checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parity") / request.param
    return write_checkpoint(folder, seed=1, **VARIANTS[request.param])


@pytest.fixture(scope="session")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two 16 kHz voices of 1.3 and 0.9 s: a hum with some noise, whose lengths are no multiples of a patch."""
    folder = tmp_path_factory.mktemp("voices")
    paths = {}
    for name, pitch, seconds in (("reference", 140.0, 1.3), ("prompt", 210.0, 0.9)):
        t = np.arange(int(16_000 * seconds) + 123) / 16_000
        rng = np.random.default_rng(int(pitch))
        sound = 0.2 * np.sin(2 * np.pi * pitch * t) * (1 + np.sin(2 * np.pi * 3 * t)) + 0.01 * rng.standard_normal(
            len(t)
        )
        paths[name] = folder / f"{name}.wav"
        soundfile.write(paths[name], sound.astype(np.float32), 16_000, subtype="FLOAT")
    return paths
