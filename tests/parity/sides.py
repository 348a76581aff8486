"""Runs one checkpoint in the reference package and in this one with the same text, voices and seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import soundfile
import torch

from tests.reference import load_reference
from voxcli.engine.config import EngineConfig
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.model.prompt import build_prompt
from voxcli.model.weights import load_model

LAYOUTS = ("zero-shot", "reference", "continuation", "both")
PROMPT_TEXT = "so it goes "


class Theirs:
    """The reference package. voices: the paths of a "reference" and a "prompt"."""

    def __init__(self, folder: Path, voices: Mapping[str, Path], lora: Path | None = None):
        self.model = load_reference(folder, lora)
        self.voices = voices

    def speak(self, text: str, layout: str, seed: int, **settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return latents [patches, patch_size, feat_dim] and audio [samples]."""
        cache: dict[str, Any] = {}
        if layout in ("reference", "both"):
            cache["reference_wav_path"] = str(self.voices["reference"])
        if layout in ("continuation", "both"):
            cache |= {"prompt_wav_path": str(self.voices["prompt"]), "prompt_text": PROMPT_TEXT}
        prompt = self.model.build_prompt_cache(**cache) if cache else None
        torch.manual_seed(seed)
        audio, _, latents = self.model.generate_with_prompt_cache(text, prompt, **settings)
        return latents, audio[0]


class Ours:
    """This package, on a CPU in float32.

    voices:   as for `Theirs`.
    requests: total number of requests; None: unknown.
    """

    def __init__(self, folder: Path, voices: Mapping[str, Path], lora: Path | None = None, requests: int | None = None):
        self.model = load_model(folder, device="cpu", dtype="float32", lora=lora)
        self.engine = Engine(self.model, EngineConfig(requests=requests))
        self.voices = voices

    def request(self, name: str, text: str, layout: str, **sampling: Any) -> Request:
        parts: dict[str, Any] = {}
        if layout in ("reference", "both"):
            parts["reference"] = self._voice("reference", "right")
        if layout in ("continuation", "both"):
            parts |= {"prompt_audio": self._voice("prompt", "left"), "prompt_text": PROMPT_TEXT}
        prompt = build_prompt(self.model.tokenizer, text, patch_shape=self.model.patch_shape, **parts)
        return Request(name, prompt, Sampling(**sampling))

    def speak(self, requests: Iterable[Request]) -> dict[str, Clip]:
        return {clip.request_id: clip for clip in self.engine.generate(requests)}

    def _voice(self, name: str, padding: Any) -> torch.Tensor:
        samples, _ = soundfile.read(self.voices[name], dtype="float32")
        return self.engine.encode_voice(samples, key=name, padding=padding)
