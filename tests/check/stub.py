"""A listening process without a model: it hears what is encoded in the samples. For the seam of the real one.

A clip of `spelled("a b")` is heard as "a b". The number of a word stands in WORD samples, as a level.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from voxcli.check.heard import RATE, HeardWord, Samples, Setup
from voxcli.check.models import CheckModel
from voxcli.check.serve import main

WORD = 1600  # samples: 0.1 s
LETTERS = 16
STEP = 1 / 256


class StubEars:
    """model: "multilingual" knows all languages, "broken" can't be loaded."""

    def __init__(self, setup: Setup):
        if setup.model.endswith("broken"):
            raise RuntimeError("no weights")
        self.multilingual = setup.model.endswith("multilingual")

    def hear(self, samples: Samples, language: str | None) -> tuple[HeardWord, ...]:
        words = [" " + "".join(_letters(samples[start : start + WORD])) for start in range(0, len(samples), WORD)]
        return tuple(
            HeardWord(round(0.1 * place, 3), round(0.1 * place + 0.1, 3), word) for place, word in enumerate(words)
        )

    def embed(self, samples: Samples) -> tuple[float, ...]:
        loud = float(np.abs(samples).max()) > 0.7
        return (0.0, 1.0) if loud else (1.0, 0.0)


def spelled(words: str) -> Samples:
    """Return samples at RATE Hz that the stub hears as `words`."""
    clips = [np.zeros(WORD, np.float32) for _ in words.split()]
    for clip, word in zip(clips, words.split(), strict=True):
        clip[: len(word)] = [(ord(letter) - 96) * STEP for letter in word]
    return np.concatenate(clips)


def _letters(samples: Samples) -> Sequence[str]:
    codes = np.round(samples[:LETTERS] / STEP).astype(int)
    return [chr(96 + code) for code in codes if 0 < code <= 26]


def use_stub(monkeypatch: Any, *, speaker: bool = False) -> None:
    """Let the stub hear instead of a recognizer. speaker: it has a speaker encoder, too."""
    monkeypatch.setattr("voxcli.check.process.COMMAND", COMMAND)
    monkeypatch.setattr("voxcli.check.checker.resolve_check_model", lambda *_: CheckModel(Path("stub"), "stub"))
    if speaker:
        monkeypatch.setattr("voxcli.check.checker.encoder_weights", lambda: Path("stub"))


COMMAND = (sys.executable, __file__)  # whatever the working directory is
assert RATE == 16_000, "0.1 s are WORD samples"

if __name__ == "__main__":
    main(StubEars)
