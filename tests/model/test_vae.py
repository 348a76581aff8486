from __future__ import annotations

from pathlib import Path

import pytest
import torch

from voxcli.model.vae import AudioVAE
from voxcli.model.vaeconv import State
from voxcli.model.weights import load_model


@pytest.fixture(scope="module")
def vae(tiny_checkpoint: Path) -> AudioVAE:
    return load_model(tiny_checkpoint).audio_vae


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 40, 100])
@torch.inference_mode()
def test_decoding_in_pieces_equals_the_whole(vae: AudioVAE, piece: int) -> None:
    latents = torch.randn(2, 40, 8, generator=torch.Generator().manual_seed(0))
    whole = vae.decode(latents)
    assert whole.shape == (2, 40 * 960)
    state: State = {}
    pieces = torch.cat([vae.decode(part, state) for part in latents.split(piece, 1)], 1)
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize("piece", [640, 1920, 25600])
@torch.inference_mode()
def test_encoding_in_pieces_equals_the_whole(vae: AudioVAE, piece: int) -> None:
    audio = 0.1 * torch.randn(1, 25600, generator=torch.Generator().manual_seed(0))
    state: State = {}
    pieces = torch.cat([vae.encode(part, state) for part in audio.split(piece, 1)], 1)
    torch.testing.assert_close(pieces, vae.encode(audio), atol=1e-5, rtol=0)


@torch.inference_mode()
def test_padding_does_not_affect_earlier_samples(vae: AudioVAE) -> None:
    """The decoder is causal: clips of different lengths may be padded on the right and decoded together."""
    latents = torch.randn(1, 20, 8, generator=torch.Generator().manual_seed(1))
    padded = torch.cat((latents, torch.full((1, 9, 8), 5.0)), 1)
    torch.testing.assert_close(vae.decode(padded)[:, : 20 * 960], vae.decode(latents), atol=1e-6, rtol=0)


def test_only_whole_latents_are_encoded(vae: AudioVAE) -> None:
    with pytest.raises(AssertionError, match="641 samples are not a whole number of latents"):
        vae.encode(torch.zeros(1, 641))
