from __future__ import annotations

import numpy as np
import pytest
import torch

from voxcli.engine.voices import VoiceEncoder
from voxcli.errors import RequestError
from voxcli.model.voxcpm2 import VoxCPM2

PATCH = 2 * 640  # samples per patch of the tiny model at 16 kHz


def tone(samples: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (0.1 * rng.standard_normal(samples)).astype(np.float32)


@pytest.mark.parametrize(("samples", "patches"), [(PATCH, 1), (PATCH + 1, 2), (3 * PATCH - 1, 3), (16_000 * 3, 38)])
def test_audio_is_padded_to_whole_patches(tiny_model: VoxCPM2, samples: int, patches: int) -> None:
    latents = VoiceEncoder(tiny_model, 4).encode(tone(samples), "k", "right")
    assert latents.shape == (patches, 2, 8) and latents.dtype == torch.float32


@pytest.mark.parametrize("padding", ["left", "right"])
def test_zeros_are_added_on_the_side_of_the_padding(tiny_model: VoxCPM2, padding: str) -> None:
    audio = tone(PATCH + 100)
    zeros = np.zeros(PATCH - 100, np.float32)
    whole = np.concatenate([zeros, audio] if padding == "left" else [audio, zeros])
    encoder = VoiceEncoder(tiny_model, 4)
    assert torch.equal(encoder.encode(audio, "a", padding), encoder.encode(whole, "b", padding))  # type: ignore[arg-type]


def test_encoding_in_pieces_equals_encoding_at_once(tiny_model: VoxCPM2) -> None:
    """Long audio is encoded one second at a time, with carried context."""
    audio = tone(PATCH * 40)
    latents = VoiceEncoder(tiny_model, 4).encode(audio, "k", "right")
    with torch.inference_mode():
        whole = tiny_model.audio_vae.encode(torch.from_numpy(audio)[None])
    torch.testing.assert_close(latents.flatten(0, 1), whole[0], atol=1e-5, rtol=0)


def test_each_content_is_encoded_once_and_the_cache_is_bounded(
    tiny_model: VoxCPM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, calls = VoiceEncoder(tiny_model, 2), []
    real = encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda samples, padding: calls.append(padding) or real(samples, padding))
    for key in ("a", "b", "a", "a", "b"):
        encoder.encode(tone(PATCH), key, "right")
    assert len(calls) == 2
    encoder.encode(tone(PATCH), "a", "left")  # another key, for which ("a", "right"), least recently used, is removed
    encoder.encode(tone(PATCH), "b", "right")
    assert len(calls) == 3
    encoder.encode(tone(PATCH), "a", "right")
    assert len(calls) == 4 and len(encoder._cache) == 2


def test_changes_to_a_returned_voice_do_not_affect_the_cache(tiny_model: VoxCPM2) -> None:
    encoder = VoiceEncoder(tiny_model, 2)
    first = encoder.encode(tone(PATCH), "a", "right")
    expected = first.clone()
    first.fill_(0)
    assert torch.equal(encoder.encode(tone(PATCH), "a", "right"), expected)


def test_empty_audio_and_several_channels_are_refused(tiny_model: VoxCPM2) -> None:
    for samples in (np.zeros((10, 2), np.float32), np.zeros(0, np.float32)):
        with pytest.raises(RequestError, match="one channel"):
            VoiceEncoder(tiny_model, 2).encode(samples, "a", "right")
