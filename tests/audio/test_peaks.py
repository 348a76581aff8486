from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from voxcli.audio.peaks import peaks
from voxcli.errors import AudioError

RATE = 16_000


def test_peaks_of_equal_parts(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.array([0.1, -0.5, 0.25, 0.0, -0.75]), RATE, subtype="FLOAT")
    assert peaks(tmp_path / "a.wav", 3) == [0.5, 0.25, 0.75]
    assert peaks(tmp_path / "a.wav", 100) == pytest.approx([0.1, 0.5, 0.25, 0.0, 0.75])
    soundfile.write(tmp_path / "two.wav", np.array([[0.1, -0.5], [0.25, 0.0]]), RATE, subtype="FLOAT")
    assert peaks(tmp_path / "two.wav", 2) == [0.5, 0.25]
    (tmp_path / "b.wav").write_text("not sound")
    for name in ("b.wav", "none.wav"):
        with pytest.raises(AudioError, match=f"{name}: its sound can't be read"):
            peaks(tmp_path / name, 3)


@pytest.mark.parametrize("frames", [1, 10, 1000])
def test_the_size_of_blocks_changes_nothing(frames: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = np.random.default_rng(3).uniform(-1, 1, 1234).astype(np.float32)
    soundfile.write(tmp_path / "a.wav", samples, RATE, subtype="FLOAT")
    monkeypatch.setattr("voxcli.audio.peaks.MAX_FRAMES", frames)
    for count in (1, 7, 96):
        size = -(-1234 // count)
        assert peaks(tmp_path / "a.wav", count) == [
            float(np.abs(samples[at : at + size]).max()) for at in range(0, 1234, size)
        ]
