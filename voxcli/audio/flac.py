"""Keep a recording: as FLAC with 24 bits, which holds a recording of 16 or 24 bits without loss."""

from __future__ import annotations

import io

import numpy as np
import soundfile
from numpy.typing import NDArray

from voxcli.audio.pcm import pcm24

__all__ = ["flac_of"]


def flac_of(samples: NDArray[np.float32], rate: int) -> bytes:
    """Return mono samples, float32[n] with full scale 1, as a FLAC file. Equal samples give equal bytes."""
    file = io.BytesIO()
    soundfile.write(file, pcm24(samples), rate, format="FLAC", subtype="PCM_24")
    return file.getvalue()
