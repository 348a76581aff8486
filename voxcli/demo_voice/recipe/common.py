"""Shared settings: model sizes, tokenizer, resampling.

This file defines everything about the shape of the demo model, so that training, export and evaluation agree on it.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

# --------------------------------------------------------------------------- audio
OUT_RATE = 24000  # what the decoder produces (and the teacher speaks)
IN_RATE = 16000  # what the encoder reads
FRAME_RATE = 25  # latent frames per second
PATCH = 4  # latent frames per language-model step
PATCH_OUT = OUT_RATE // FRAME_RATE * PATCH  # 3840 output samples per patch
MIN_PATCHES = 4  # inference ignores the stop head for the first patches
TAIL_PATCHES = 2  # extra silent patches kept after every utterance
LATENT = 32


class Utterance(TypedDict):
    """An utterance of a shard, as make_speech.py writes it: its samples and its patches without the tail."""

    text: str
    speaker: int
    start: int
    samples: int
    patches: int


# --------------------------------------------------------------------------- sizes
HEAD_DIM = 64  # kv_channels, the same everywhere (one rotary table)


def model_config(micro: bool = False) -> dict[str, Any]:
    """Return config.json of the demo model. micro: a toy size for trying out the scripts."""
    rope = {
        "type": "longrope",
        "long_factor": [1.0] * (HEAD_DIM // 2),
        "short_factor": [1.0] * (HEAD_DIM // 2),
        "original_max_position_embeddings": 4096,
    }
    big = not micro
    return {
        "architecture": "voxcpm2",
        "lm_config": {
            "bos_token_id": 1,
            "eos_token_id": 2,
            "hidden_size": 384 if big else 64,
            "intermediate_size": 896 if big else 128,
            "max_position_embeddings": 4096,
            "num_attention_heads": 6 if big else 2,
            "num_hidden_layers": 7 if big else 2,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-05,
            "rope_theta": 10000,
            "kv_channels": HEAD_DIM,
            "rope_scaling": rope,
            "vocab_size": VOCAB_SIZE,
            "use_mup": False,
            "scale_emb": 12,
            "dim_model_base": 256,
            "scale_depth": 1.4,
        },
        "patch_size": PATCH,
        "feat_dim": LATENT,
        "scalar_quantization_latent_dim": 160 if big else 32,
        "scalar_quantization_scale": 9,
        "residual_lm_num_layers": 2 if big else 1,
        "residual_lm_no_rope": True,
        "encoder_config": {
            "hidden_dim": 192 if big else 64,
            "ffn_dim": 512 if big else 128,
            "num_heads": 4 if big else 2,
            "num_layers": 2 if big else 1,
            "kv_channels": HEAD_DIM,
        },
        "dit_config": {
            "hidden_dim": 256 if big else 64,
            "ffn_dim": 640 if big else 128,
            "num_heads": 4 if big else 2,
            "num_layers": 4 if big else 1,
            "kv_channels": HEAD_DIM,
            "mean_mode": False,
            "cfm_config": {
                "sigma_min": 1e-06,
                "solver": "euler",
                "t_scheduler": "log-norm",
                "inference_cfg_rate": 2.0,
            },
        },
        "audio_vae_config": {
            "encoder_dim": 24 if big else 4,
            "encoder_rates": [2, 5, 8, 8],
            "latent_dim": LATENT,
            "decoder_dim": 512 if big else 64,
            "decoder_rates": [8, 5, 6, 4],
            "depthwise": True,
            "sr_bin_boundaries": [20000, 30000, 40000],
            "sample_rate": IN_RATE,
            "out_sample_rate": OUT_RATE,
            "cond_type": "scale_bias",
        },
        "max_length": 2048,
        "device": "cpu",
        "dtype": "float32",
    }


# --------------------------------------------------------------------------- tokenizer
# One token per character, in the sentencepiece style of the original tokenizer: spaces become U+2581 and the text gets
# one in front. Capital letters, accented letters and rare punctuation have their own ids but share the trained row of a
# base character. A capital letter adds one learned vector (the row CAPITAL), so that "us" and "US" differ and rare
# capitals are known. `export` in train_lm.py writes the sums, so inference needs no text normalizer.
SPACE = "\u2581"
SPECIAL = {101: "<|audio_start|>", 102: "<|audio_end|>", 103: "<|ref_audio_start|>", 104: "<|ref_audio_end|>"}
AUDIO_START, AUDIO_END, REF_START, REF_END = 101, 102, 103, 104
CAPITAL = 98
VOCAB_SIZE = 256

ALIAS = {chr(c): chr(c).lower() for c in range(ord("A"), ord("Z") + 1)}
ALIAS.update({c: SPACE for c in "*_~|\\^<>{}"})
ALIAS.update({"`": "'", "(": '"', ")": '"', "[": '"', "]": '"'})
_EXTRA = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2013": "-",
    "\u2014": "-",
    "\u2026": ".",
    "\u00a0": SPACE,
    "\n": SPACE,
    "\t": SPACE,
    "\u00ab": '"',
    "\u00bb": '"',
    "\u00a1": SPACE,
    "\u00bf": SPACE,
}
for _chars, _base in (
    ("\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u00c0\u00c1\u00c2\u00c3\u00c4\u00c5\u0101", "a"),
    ("\u00e8\u00e9\u00ea\u00eb\u00c8\u00c9\u00ca\u00cb\u0113", "e"),
    ("\u00ec\u00ed\u00ee\u00ef\u00cc\u00cd\u00ce\u00cf\u012b", "i"),
    ("\u00f2\u00f3\u00f4\u00f5\u00f6\u00f8\u00d2\u00d3\u00d4\u00d5\u00d6\u00d8\u014d", "o"),
    ("\u00f9\u00fa\u00fb\u00fc\u00d9\u00da\u00db\u00dc\u016b", "u"),
    ("\u00e7\u00c7\u0107", "c"),
    ("\u00f1\u00d1\u0144", "n"),
    ("\u00fd\u00ff\u00dd", "y"),
    ("\u0161\u0160", "s"),
    ("\u017e\u017d", "z"),
    ("\u00df", "s"),
):
    for _c in _chars:
        _EXTRA[_c] = _base
ALIAS.update(_EXTRA)
EXTRA_OWN = "\u20ac\u00a3"  # euro and pound sign, with their own rows


def vocabulary() -> dict[str, int]:
    """Return token -> id. Ids 101 to 104 are reserved for the audio marks."""
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2, SPACE: 3}
    nxt = 4
    for code in range(33, 127):  # 94 printable characters: ids 4..97
        vocab[chr(code)] = nxt
        nxt += 1
    for i in range(nxt, 101):
        vocab[f"<|reserved_{i}|>"] = i
    for i, name in SPECIAL.items():
        vocab[name] = i
    nxt = 105
    for char in [*_EXTRA, *EXTRA_OWN]:
        vocab[char] = nxt
        nxt += 1
    for i in range(nxt, VOCAB_SIZE):
        vocab[f"<|reserved_{i}|>"] = i
    assert len(vocab) == VOCAB_SIZE and sorted(vocab.values()) == list(range(VOCAB_SIZE))
    return vocab


def alias_table() -> NDArray[np.int64]:
    """Return an array [VOCAB_SIZE]: token id -> id of the row that is trained for it."""
    vocab = vocabulary()
    table = np.arange(VOCAB_SIZE)
    for char, base in ALIAS.items():
        table[vocab[char]] = vocab[base]
    table[0] = vocab[SPACE]  # unknown characters are read as a space
    return table


def capital_table() -> NDArray[np.float32]:
    """Return an array [VOCAB_SIZE]: 1 for the ids of capital letters, otherwise 0."""
    table = np.zeros(VOCAB_SIZE, np.float32)
    for char, i in vocabulary().items():
        table[i] = float(len(char) == 1 and char.isupper())
    return table


def text_ids(text: str) -> list[int]:
    """Return the token ids of a text, like the exported tokenizer but without the package `tokenizers`."""
    vocab = vocabulary()
    out, last_unknown = [], False
    for char in SPACE + text.replace(" ", SPACE):
        idx = vocab.get(char, 0)
        if idx == 0 and last_unknown:  # runs of unknown characters are fused
            continue
        last_unknown = idx == 0
        out.append(idx)
    return out


def write_tokenizer(folder: str) -> None:
    """Write tokenizer.json and tokenizer_config.json in the layout of a Llama tokenizer."""
    vocab = vocabulary()

    def added(i: int, content: str) -> dict[str, Any]:
        return {
            "id": i,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }

    specials = [(0, "<unk>"), (1, "<s>"), (2, "</s>"), *sorted(SPECIAL.items())]
    data: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(i, c) for i, c in specials],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": SPACE},
                {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [],
        },
    }
    config = {
        "tokenizer_class": "LlamaTokenizerFast",
        "add_bos_token": False,
        "add_eos_token": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
        "legacy": True,
        "model_max_length": 2048,
        "added_tokens_decoder": {str(i): {k: v for k, v in added(i, c).items() if k != "id"} for i, c in specials},
    }
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(data, f, ensure_ascii=False, indent=1)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, ensure_ascii=False, indent=1)


# --------------------------------------------------------------------------- helpers
def import_reference() -> Any:
    """Import the reference package, with stubs for modules that it imports but does not need here."""
    import importlib.machinery

    import transformers  # noqa: F401  (first: it looks for optional packages)

    for name in ("librosa",):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
    if "voxcpm" not in sys.modules:  # skip voxcpm/__init__, which pulls in the web demo
        import importlib.util

        spec = importlib.util.find_spec("voxcpm")
        assert spec is not None and spec.submodule_search_locations is not None, "install voxcpm"
        package = types.ModuleType("voxcpm")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["voxcpm"] = package
        model_pkg = types.ModuleType("voxcpm.model")
        model_pkg.__path__ = [os.path.join(package.__path__[0], "model")]
        sys.modules["voxcpm.model"] = model_pkg
    from voxcpm.model import voxcpm2

    return voxcpm2


def read_time(path: str) -> float:
    """Read a unix time from a text file."""
    with open(path) as f:
        return float(f.read())


def to_encoder_rate(wav: torch.Tensor) -> torch.Tensor:
    """Resample `wav` [B, 1, T] from 24 kHz to 16 kHz on its device. T is a multiple of 3."""
    import torch
    import torch.nn.functional as F

    taps = 97
    n = torch.arange(taps, dtype=torch.float64) - (taps - 1) / 2
    cutoff = 7600.0 / (OUT_RATE * 2 / 2)  # as a fraction of the 48 kHz Nyquist frequency
    kernel = torch.special.sinc(n * cutoff) * cutoff * torch.kaiser_window(taps, False, 8.0, dtype=torch.float64)
    kernel = (kernel / kernel.sum() * 2).to(wav)
    up = torch.stack([wav, torch.zeros_like(wav)], dim=-1).flatten(-2)
    return F.conv1d(F.pad(up, (taps // 2, taps // 2)), kernel.view(1, 1, -1), stride=3)


if __name__ == "__main__":  # common.py FOLDER: config.json and the tokenizer
    write_tokenizer(sys.argv[1])
    with open(os.path.join(sys.argv[1], "config.json"), "w") as f:
        json.dump(model_config(), f, indent=1)
