"""The decoder of whole clips against the decoder with plain layers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from voxcli.kernels import ops
from voxcli.model.clipdecoder import ClipDecoder
from voxcli.model.config import AudioVAEConfig
from voxcli.model.vae import AudioVAE
from voxcli.model.weights import load_model


@pytest.fixture(scope="module")
def tiny(tiny_checkpoint: Path) -> AudioVAE:
    return load_model(tiny_checkpoint, device="cpu").audio_vae


@pytest.fixture(scope="module")
def demo(demo_voice: Path) -> AudioVAE:
    return load_model(demo_voice, device="cpu").audio_vae


def sounds(vae: AudioVAE) -> torch.Tensor:
    """Return latents of a rising tone and of noise, half a second each."""
    samples = vae.encoder_hop * 12
    time = torch.arange(samples) / vae.config.sample_rate
    tone = 0.3 * torch.sin(2 * math.pi * (200 + 300 * time) * time)
    noise = 0.1 * torch.randn(samples, generator=torch.Generator().manual_seed(0))
    return vae.encode(torch.stack((tone, noise)))


def decibels(ours: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the signal-to-noise ratio of the worst row in dB."""
    error = (ours.cpu() - exact.cpu()).square().sum(1)
    return float((10 * torch.log10(exact.cpu().square().sum(1) / error)).min())


@torch.inference_mode()
def test_equals_the_plain_layers(tiny: AudioVAE) -> None:
    latents = torch.randn(3, 9, 8, generator=torch.Generator().manual_seed(0))
    audio = ClipDecoder(tiny)(latents)
    assert audio.shape == (3, 9 * 960) and audio.dtype == torch.float32
    torch.testing.assert_close(audio, tiny.decode(latents), atol=1e-5, rtol=0)


@pytest.mark.parametrize("changes", [{"cond_type": "add"}, {"sr_bin_boundaries": None}])
@torch.inference_mode()
def test_equals_the_plain_layers_with_each_kind_of_condition(changes: dict[str, object]) -> None:
    sizes = {"encoder_dim": 2, "decoder_dim": 32, "latent_dim": 4, "decoder_rates": (3, 2), "out_sample_rate": 24000}
    vae = AudioVAE(AudioVAEConfig(**{**sizes, **changes}))
    generator = torch.Generator().manual_seed(0)
    for name, parameter in vae.named_parameters():
        parameter.data.uniform_(0.5, 1.5, generator=generator)
        if parameter.ndim < 3 or not name.endswith("alpha"):
            parameter.data.sub_(1.0).div_(math.sqrt(parameter[0].numel()))
    latents = torch.randn(2, 20, 4, generator=generator)
    exact = vae.decode(latents)
    assert exact.std() > 0.01, "with silence the comparison would be meaningless"
    torch.testing.assert_close(ClipDecoder(vae)(latents), exact, atol=1e-5, rtol=0)


@torch.inference_mode()
def test_equals_the_plain_layers_on_sounds(demo: AudioVAE) -> None:
    latents = sounds(demo)
    torch.testing.assert_close(ClipDecoder(demo)(latents), demo.decode(latents), atol=1e-5, rtol=0)


@torch.inference_mode()
def test_the_error_of_float16_is_inaudible(demo: AudioVAE) -> None:
    latents = sounds(demo)
    assert decibels(ClipDecoder(demo, torch.float16)(latents), demo.decode(latents)) > 40


@torch.inference_mode()
def test_padding_does_not_affect_earlier_samples(tiny: AudioVAE) -> None:
    """Clips of different lengths may be padded on the right and decoded together."""
    decoder = ClipDecoder(tiny)
    latents = torch.randn(1, 7, 8, generator=torch.Generator().manual_seed(1))
    padded = torch.cat((latents, torch.full((1, 5, 8), 5.0)), 1)
    torch.testing.assert_close(decoder(padded)[:, : 7 * 960], decoder(latents), atol=1e-6, rtol=0)


def test_memory_of_a_frame() -> None:
    """Two buffers of 16 channels at 20 times, which is more than any upsampling needs, plus the audio."""
    config = AudioVAEConfig(encoder_dim=2, decoder_dim=64, latent_dim=4, decoder_rates=(5, 4), out_sample_rate=24000)
    assert ClipDecoder(AudioVAE(config), torch.float16).bytes_per_frame == 2 * max(3 * 32 * 5 + 16 * 20, 640) + 4 * 20


def test_dense_convolutions_are_not_supported() -> None:
    config = AudioVAEConfig(encoder_dim=2, decoder_dim=8, latent_dim=4, decoder_rates=(2,), depthwise=False)
    assert not ClipDecoder.fits(config)
    with pytest.raises(AssertionError, match=r"dense convolutions need vaedecoder\.Decoder"):
        ClipDecoder(AudioVAE(config))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
@pytest.mark.parametrize("fused", [True, False])
@torch.inference_mode()
def test_equals_the_plain_layers_on_a_gpu(demo: AudioVAE, demo_voice: Path, fused: bool) -> None:
    latents = sounds(demo)
    exact = demo.decode(latents)
    decoder = ClipDecoder(load_model(demo_voice, device="cuda").audio_vae)
    assert decoder.dtype == torch.float16
    ops.use_triton(fused)
    try:
        audio = decoder(latents.cuda())
    finally:
        ops.use_triton(True)
    assert decibels(audio, exact) > 40
