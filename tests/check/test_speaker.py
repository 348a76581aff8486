"""The speaker encoder: its spectra are those it was trained with, and its embeddings tell voices apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from voxcli.check.heard import RATE
from voxcli.check.speaker import (
    BANDS,
    FRAMES,
    HOP,
    STEP,
    WINDOW,
    SpeakerEncoder,
    _filters,
    _lifted,
    _mel_spectra,
    _windows,
    _without_pauses,
    encoder_weights,
    similarity,
)


def test_filters_have_equal_areas_and_cover_all_frequencies() -> None:
    filters = _filters()
    assert filters.shape == (BANDS, WINDOW // 2 + 1)
    width = RATE / WINDOW
    assert np.allclose(filters[15:].sum(axis=1) * width, 1.0, atol=0.05), "narrow ones have too few bins for that"
    assert (filters[:, 1:-1].sum(axis=0) > 0).all()


def test_filters_equal_those_of_another_implementation() -> None:
    """faster-whisper computes librosa's filters in numpy."""
    extractor = pytest.importorskip("faster_whisper.feature_extractor")
    theirs = extractor.FeatureExtractor.get_mel_filters(RATE, WINDOW, BANDS)
    assert np.abs(theirs - _filters()).max() < 1e-6


def test_a_tone_is_in_the_band_of_its_frequency() -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE).astype(np.float32)
    spectra = _mel_spectra(tone)
    assert spectra.shape == (RATE // HOP + 1, BANDS)
    peak = int(spectra[50].argmax())
    assert peak == int(_filters()[:, round(1000 * WINDOW / RATE)].argmax())
    # a window of 400 samples of cos^2 weight: (0.5 x 400 / 2)^2 = 10,000 at its bin, and a quarter beside it
    power = np.zeros(WINDOW // 2 + 1)
    power[24:27] = 2500, 10_000, 2500
    assert np.allclose(spectra[50], _filters() @ power, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("seconds", "windows"), [(0.5, 1), (1.6, 1), (3.0, 3), (10.0, 12)])
def test_windows_overlap_and_the_last_one_is_covered(seconds: float, windows: int) -> None:
    found = _windows(np.ones(round(seconds * RATE), np.float32))
    assert found.shape == (windows, FRAMES, BANDS)
    assert STEP < FRAMES


def test_quiet_clips_are_lifted_and_loud_ones_are_not() -> None:
    quiet, loud = np.full(RATE, 0.001, np.float32), np.full(RATE, 0.5, np.float32)
    assert np.sqrt(np.mean(_lifted(quiet) ** 2)) == pytest.approx(10 ** (-30 / 20), rel=1e-4)
    assert np.array_equal(_lifted(loud), loud)
    assert not _lifted(np.zeros(10, np.float32)).any()


def test_the_middle_of_pauses_is_left_out() -> None:
    speech, pause = np.full(RATE, 0.3, np.float32), np.zeros(2 * RATE, np.float32)
    kept = _without_pauses(np.concatenate([speech, pause, speech]))
    assert 2.3 < len(kept) / RATE < 2.5, "0.2 s are kept on both sides"
    assert len(_without_pauses(pause)) == len(pause)


def test_similarity_is_the_cosine() -> None:
    assert similarity((1.0, 0.0), (2.0, 0.0)) == 1.0
    assert similarity((1.0, 0.0), (1.0, 1.0)) == pytest.approx(np.sqrt(0.5))


@pytest.mark.speech
def test_voices_are_told_apart(repository: Path) -> None:
    weights = encoder_weights()
    if weights is None:
        pytest.skip("the weights of resemblyzer are not installed")
    encoder = SpeakerEncoder(weights)

    def embedded(name: str) -> tuple[float, ...]:
        samples, rate = soundfile.read(repository / "samples" / "demo" / f"{name}.wav", dtype="float32")
        return encoder.embed(soxr.resample(samples, rate, RATE).astype(np.float32))

    harbor, sunset, joe, cloned = map(embedded, ("harbor", "sunset", "joe", "cloned"))
    assert np.linalg.norm(harbor) == pytest.approx(1.0, abs=1e-4)
    assert similarity(harbor, sunset) > 0.8
    assert similarity(joe, cloned) > 0.8
    assert similarity(harbor, joe) < 0.6
