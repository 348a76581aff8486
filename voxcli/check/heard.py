"""What a recognizer makes of a clip, and the interface of recognizers and speaker encoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["RATE", "Ears", "Heard", "HeardWord", "Setup"]

RATE = 16_000  # of the samples that recognizers and speaker encoders take, in Hz

Samples = NDArray[np.float32]


class HeardWord(NamedTuple):
    """A word heard from `start` to `end`, in seconds; its text includes the space before it."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Heard:
    """The transcript of a clip. embedding: of its speaker; None if it was not asked for."""

    words: tuple[HeardWord, ...] = ()
    embedding: tuple[float, ...] | None = None

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)


@dataclass(frozen=True)
class Setup:
    """What the listening process loads.

    model:    folder of a faster-whisper model.
    device:   `cpu` or `cuda`.
    threads:  clips that are heard at once, with one thread each.
    speakers: path of the speaker encoder's weights; None: no embeddings.
    """

    model: str
    device: str = "cpu"
    threads: int = 1
    speakers: str | None = None


class Ears(Protocol):
    """Hears clips; called from several threads. multilingual: it knows other languages than English."""

    multilingual: bool

    def hear(self, samples: Samples, language: str | None) -> tuple[HeardWord, ...]:
        """Transcribe float32[n] at RATE Hz. language: None to detect it."""

    def embed(self, samples: Samples) -> tuple[float, ...]:
        """Return the embedding of the speaker, a vector of length 1."""


Values = dict[str, Any]
