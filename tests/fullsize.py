"""A random checkpoint with the names, shapes and sizes of openbmb/VoxCPM2: 2.3 billion parameters, 4.6 GB in bfloat16.

`python -m tests.fullsize FOLDER [float32|bfloat16]` writes one. The dtype is that in config.json.
"""

from __future__ import annotations

import copy
import itertools
import random
import string
import sys
from pathlib import Path
from typing import Any

import torch

from tests.checkpoints import HAN, write_tokenizer, write_weights
from voxcli.model.random import VOXCPM2

VOCABULARY = 73_448
HAN_CHARS = [*HAN, *(chr(0x4E00 + i) for i in range(190) if chr(0x4E00 + i) not in HAN)]


def full_config(dtype: str = "float32") -> dict[str, Any]:
    """Return config.json as a dict. dtype: the dtype in which the reference package runs the model."""
    config: dict[str, Any] = copy.deepcopy(VOXCPM2)
    lm = config["lm_config"]
    lm |= {"bos_token_id": 1, "eos_token_id": 2, "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4}
    lm["rope_scaling"]["short_factor"] = [1.0 + i / 64 for i in range(64)]
    config["dit_config"]["cfm_config"] = {
        "sigma_min": 1e-6,
        "solver": "euler",
        "t_scheduler": "log-norm",
        "inference_cfg_rate": 2.0,
    }
    config["audio_vae_config"] = {
        "encoder_dim": 128,
        "encoder_rates": [2, 5, 8, 8],
        "latent_dim": 64,
        "decoder_dim": 2048,
        "decoder_rates": [8, 6, 5, 2, 2, 2],
        "depthwise": True,
        "sample_rate": 16000,
        "out_sample_rate": 48000,
        "sr_bin_boundaries": [20000, 30000, 40000],
        "cond_type": "scale_bias",
    }
    return config | {"device": "cpu", "dtype": dtype}


def merges() -> list[str]:
    """Return about 70,000 merges: pairs and triples of letters, with and without word mark, and pairs of Han."""
    letters = string.ascii_lowercase
    pairs = [f"{a}{b}" for a, b in itertools.product(letters, repeat=2)]
    return [
        *(f"▁ {a}" for a in letters),
        *(f"{a} {b}" for a, b in itertools.product(letters, repeat=2)),
        *(f"▁{a} {pair}" for a, pair in itertools.product(letters, pairs)),
        *(f"{pair} {a}" for pair, a in itertools.product(pairs, letters)),
        *(f"{a} {b}" for a, b in itertools.product(HAN_CHARS, HAN_CHARS[:180])),
    ]


def write_full_checkpoint(folder: Path, dtype: str = "float32") -> Path:
    """Write the checkpoint. Takes half a minute, 5 GB of memory and 5 GB of disk space."""
    config = full_config(dtype)
    write_weights(folder, config, seed=0, dtype=torch.bfloat16)
    write_tokenizer(folder, VOCABULARY, HAN_CHARS, merges())
    return folder


def texts(count: int) -> list[str]:
    """Return fixed random texts of one word to a paragraph, with Han, numbers, punctuation, other scripts and emoji."""
    rng = random.Random(0)

    def word() -> str:
        kind = rng.randrange(12)
        if kind < 6:
            return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, 11)))
        if kind < 8:
            return "".join(rng.choices(HAN_CHARS, k=rng.randint(1, 6)))
        if kind == 8:
            return f"{rng.randrange(10**6):,}.{rng.randrange(100)}"
        if kind == 9:
            return rng.choice(["Hello", "NASA", "don't", "e.g.", "(warm)", "“so”", "ünïcödé", "naïve", "x=y+z"])
        if kind == 10:
            return rng.choice(["日本語", "한국어", "привет", "مرحبا", "🎉", "👩‍🚀", "𝐇𝐞", "½", "\u00a0", "\t", "龘"])
        return rng.choice([",", ".", "!", "?", "…", "—", "，", "。", "  ", "\n"])

    return [rng.choice(["", " "]).join(word() for _ in range(rng.randint(1, 40))) for _ in range(count)]


if __name__ == "__main__":
    write_full_checkpoint(Path(sys.argv[1]), *sys.argv[2:3])
