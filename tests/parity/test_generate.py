"""The same audio as the reference package: float32 on a CPU, same seed, all four layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import soundfile
import torch

from tests.reference import load_reference
from voxcli.engine.engine import Engine
from voxcli.engine.request import Clip, Request, Sampling
from voxcli.model.prompt import build_prompt
from voxcli.model.weights import load_model

LAYOUTS = ("zero-shot", "reference", "continuation", "both")


class Pair:
    """One checkpoint in both implementations."""

    def __init__(self, folder: Path, voices: dict[str, Path]):
        self.reference = load_reference(folder)
        self.model = load_model(folder, device="cpu", dtype="float32")
        self.engine = Engine(self.model)
        self.voices = voices

    def theirs(self, text: str, layout: str, seed: int, **settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Latents [patches, patch_size, feat_dim] and audio [samples]."""
        cache: dict[str, Any] = {}
        if layout in ("reference", "both"):
            cache["reference_wav_path"] = str(self.voices["reference"])
        if layout in ("continuation", "both"):
            cache |= {"prompt_wav_path": str(self.voices["prompt"]), "prompt_text": "so it goes "}
        prompt = self.reference.build_prompt_cache(**cache) if cache else None
        torch.manual_seed(seed)
        audio, _, latents = self.reference.generate_with_prompt_cache(text, prompt, **settings)
        return latents, audio[0]

    def request(self, name: str, text: str, layout: str, **sampling: Any) -> Request:
        parts: dict[str, Any] = {}
        if layout in ("reference", "both"):
            parts["reference"] = self._voice("reference", "right")
        if layout in ("continuation", "both"):
            parts |= {"prompt_audio": self._voice("prompt", "left"), "prompt_text": "so it goes "}
        prompt = build_prompt(self.model.tokenizer, text, patch_shape=self.model.patch_shape, **parts)
        return Request(name, prompt, Sampling(**sampling))

    def ours(self, requests: list[Request]) -> dict[str, Clip]:
        return {clip.request_id: clip for clip in self.engine.generate(requests)}

    def _voice(self, name: str, padding: Any) -> torch.Tensor:
        samples, _ = soundfile.read(self.voices[name], dtype="float32")
        return self.engine.encode_voice(samples, key=name, padding=padding)


def assert_equal(clip: Clip, latents: torch.Tensor, audio: torch.Tensor) -> None:
    assert clip.error is None and clip.latents is not None
    assert clip.patches == len(latents)
    torch.testing.assert_close(clip.latents, latents, atol=1e-4, rtol=0)
    torch.testing.assert_close(torch.from_numpy(clip.audio), audio, atol=1e-3, rtol=0)


@pytest.fixture(scope="module")
def pair(random_checkpoint: Path, voices: dict[str, Path]) -> Pair:
    return Pair(random_checkpoint, voices)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_checkpoint(pair: Pair, layout: str) -> None:
    texts = ["hello world", "你好世界", "a longer line of text", "大学生 hello!"]
    clips = pair.ours([pair.request(f"{seed}", text, layout, seed=seed, attempts=1) for seed, text in enumerate(texts)])
    for seed, text in enumerate(texts):
        assert_equal(clips[f"{seed}"], *pair.theirs(text, layout, seed))


@pytest.mark.parametrize(("steps", "cfg"), [(2, 2.0), (5, 1.0), (25, 3.0), (60, 1.5)])
def test_steps_and_cfg(pair: Pair, steps: int, cfg: float) -> None:
    """60 steps have two still ones at the start."""
    clip = pair.ours([pair.request("a", "hello", "zero-shot", seed=3, steps=steps, cfg=cfg, attempts=1)])["a"]
    assert_equal(clip, *pair.theirs("hello", "zero-shot", 3, inference_timesteps=steps, cfg_value=cfg))


@pytest.mark.parametrize(("min_len", "max_len"), [(0, 30), (2, 3), (6, 8), (12, 2000)])
def test_min_and_max_length(pair: Pair, min_len: int, max_len: int) -> None:
    for seed in range(3):
        clip = pair.ours(
            [pair.request("a", "hello", "zero-shot", seed=seed, min_len=min_len, max_len=max_len, attempts=1)]
        )["a"]
        assert_equal(clip, *pair.theirs("hello", "zero-shot", seed, min_len=min_len, max_len=max_len))


@pytest.mark.parametrize("ratio", [0.7, 1.5, 6.0])
def test_bad_cases_are_run_again_alike(pair: Pair, ratio: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a retry the reference goes on with its generator, here attempt n has seed + n - 1: it is made to as well."""
    inner = pair.reference._inference
    for seed in range(4):
        attempts = []

        def seeded(*args: Any, seed: int = seed, attempts: list[int] = attempts, **kwargs: Any) -> Any:
            torch.manual_seed(seed + len(attempts))
            attempts.append(1)
            return inner(*args, **kwargs)

        monkeypatch.setattr(pair.reference, "_inference", seeded)
        theirs = pair.theirs("hello abc", "zero-shot", seed, retry_badcase=True, retry_badcase_ratio_threshold=ratio)
        clip = pair.ours([pair.request("a", "hello abc", "zero-shot", seed=seed, ratio=ratio)])["a"]
        assert clip.attempts == len(attempts)
        assert_equal(clip, *theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_demo_voice(demo_voice: Path, voices: dict[str, Path], layout: str) -> None:
    pair = Pair(demo_voice, voices)
    texts = ["Good evening.", "Tomorrow will be sunny."]
    clips = pair.ours([pair.request(f"{seed}", text, layout, seed=seed, max_len=14) for seed, text in enumerate(texts)])
    for seed, text in enumerate(texts):
        assert_equal(clips[f"{seed}"], *pair.theirs(text, layout, seed, max_len=14))


def test_the_demo_voice_is_a_float32_config(demo_voice: Path) -> None:
    assert json.loads((demo_voice / "config.json").read_text())["dtype"] == "float32"
