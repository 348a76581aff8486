"""The recognizer: Whisper through faster-whisper (MIT), and the speaker encoder. Runs in the listening process."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from voxcli.check.heard import RATE, HeardWord, Samples, Setup
from voxcli.check.speaker import SpeakerEncoder

__all__ = ["Recognizer"]

# Words at the very ends of a clip are missed without silence around them.
LEAD_S, TRAIL_S = 0.25, 0.5
BEAM = 5


class Recognizer:
    """A model of faster-whisper. The same clip always gives the same words: nothing is sampled."""

    def __init__(self, setup: Setup):
        from faster_whisper import WhisperModel

        self._setup = setup
        self._model = WhisperModel(
            setup.model,
            device=setup.device,
            compute_type="int8" if setup.device == "cpu" else "float16",
            cpu_threads=1,
            num_workers=setup.threads,
            local_files_only=True,
        )
        self.multilingual = bool(self._model.model.is_multilingual)

    def hear(self, samples: Samples, language: str | None) -> tuple[HeardWord, ...]:
        length_s = len(samples) / RATE
        padded = np.concatenate(
            [np.zeros(round(LEAD_S * RATE), np.float32), samples, np.zeros(round(TRAIL_S * RATE), np.float32)]
        )
        segments, _ = self._model.transcribe(
            padded,
            language=language if self.multilingual else "en",
            beam_size=BEAM,
            temperature=0.0,
            condition_on_previous_text=False,
            word_timestamps=True,
        )

        def place(seconds: float) -> float:
            return round(min(max(0.0, seconds - LEAD_S), length_s), 3)

        return tuple(
            HeardWord(place(word.start), place(word.end), word.word)
            for segment in segments
            for word in segment.words or ()
        )

    def embed(self, samples: Samples) -> tuple[float, ...]:
        return self._speakers.embed(samples)

    @cached_property
    def _speakers(self) -> SpeakerEncoder:
        assert self._setup.speakers is not None, "the setup names no speaker encoder"
        return SpeakerEncoder(self._setup.speakers)
