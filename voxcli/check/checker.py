"""Check clips: hear them in the listening process, compare them with their text, and measure their signal."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from voxcli.audio.read import Recording
from voxcli.audio.resample import resample
from voxcli.check.compare import Comparison, compare
from voxcli.check.heard import RATE, Heard, HeardWord, Samples, Setup
from voxcli.check.models import resolve_check_model
from voxcli.check.options import CheckOptions
from voxcli.check.process import ListeningProcess
from voxcli.check.signals import measure
from voxcli.check.speaker import INSTALL, encoder_weights, similarity
from voxcli.check.surplus import all_words
from voxcli.check.verdict import ClipCheck, Limits
from voxcli.errors import MissingExtra, VoxError
from voxcli.text.guess import possible_languages
from voxcli.voices.source import read_recording_of

__all__ = ["CheckedClip", "Checker", "ClipText"]

NOT_ENGLISH = "its words are not checked: the recognizer {model} knows English only"


@dataclass(frozen=True)
class ClipText:
    """The text of a clip.

    written:   its words as in the text.
    spoken:    as given to the model, if numbers were spelled or a lexicon was applied; else empty.
    languages: those that the whole text can be in; empty if unsure.
    """

    written: str
    spoken: str = ""
    languages: frozenset[str] = frozenset()

    @classmethod
    def of(cls, written: str, spoken: str = "", language: str | None = None) -> ClipText:
        languages = frozenset({language}) if language else possible_languages(written)
        return cls(written, "" if spoken == written else spoken, languages)


@dataclass(frozen=True)
class CheckedClip:
    """check: of the clip.  words: heard in it, with times.  note: why a part of it was not checked; or empty."""

    check: ClipCheck
    words: tuple[HeardWord, ...] = ()
    note: str = ""


class Checker:
    """Checks clips, several at once; a context manager that can be entered again later.

    command: starts the listening process; None: the real one.

    Raises MissingExtra or ModelNotFound at once if it can't work.
    """

    def __init__(
        self,
        options: CheckOptions,
        notify: Callable[[str], None],
        *,
        threads: int | None = None,
        command: Sequence[str] | None = None,
    ):
        self.options = options
        self.limits = Limits.of(options)
        self.model = resolve_check_model(options.model, notify)
        self.threads = threads or usual_threads()
        self._weights = encoder_weights()
        if options.min_similarity is not None and self._weights is None:
            raise MissingExtra(f"--min-similarity needs the weights of one more package: {INSTALL}")
        speakers = None if self._weights is None else str(self._weights)
        setup = Setup(str(self.model.folder), options.device, self.threads, speakers)
        self._process = ListeningProcess(setup, command)
        self._voices: dict[Path, tuple[float, ...] | None] = {}
        self._reading = Lock()

    def __enter__(self) -> Checker:
        self._process.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.__exit__()

    def wait(self) -> None:
        """Wait until the recognizer is loaded. Raises ModelError if it can't be."""
        _ = self._process.multilingual

    def check(
        self, samples: Samples, rate: int, text: ClipText, *, voice: Path | None = None, about: str = ""
    ) -> CheckedClip:
        """Check float32[n] at `rate` Hz; blocks until it is heard.

        voice: the recording it should sound like, or the file of a named voice.
        about: what it is, for the injection of faults.

        Raises SynthesisError if the recognizer fails, ModelError if it can't be loaded.
        """
        language = next(iter(text.languages)) if len(text.languages) == 1 else None
        words = self._process.multilingual or not text.languages or "en" in text.languages
        wanted = None if voice is None else self._embedding(voice)
        heard = Heard()
        if words or wanted is not None:
            at_rate = resample(samples, rate, RATE)
            heard = self._process.hear(at_rate, language=language, hear=words, embed=wanted is not None, about=about)

            def listen(part: Samples) -> tuple[HeardWord, ...]:
                return self._process.hear(part, language=language, about=about).words

            heard = replace(heard, words=all_words(heard.words, at_rate, text.languages, listen))
        same = None if wanted is None or heard.embedding is None else similarity(wanted, heard.embedding)
        return CheckedClip(
            ClipCheck(measure(samples, rate), _compared(text, heard.text) if words else None, same),
            heard.words,
            "" if words else NOT_ENGLISH.format(model=self.model.name),
        )

    def _embedding(self, voice: Path) -> tuple[float, ...] | None:
        """Return the embedding of a voice; None if it has no recording that can be read or there is no encoder."""
        if self._weights is None:
            return None
        with self._reading:
            if voice not in self._voices:
                try:
                    self._voices[voice] = self._embedded(read_recording_of(voice, RATE))
                except VoxError:  # the line that speaks with it reports it
                    self._voices[voice] = None
            return self._voices[voice]

    def _embedded(self, recording: Recording | None) -> tuple[float, ...] | None:
        return None if recording is None else self._process.hear(recording.samples, hear=False, embed=True).embedding


def usual_threads(cores: int | None = None) -> int:
    """Return how many clips are heard at once: a quarter of the cores; the rest is left to the engine.

    cores: those of the engine; None: all that this process may use.
    """
    if cores is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 4)


def _compared(text: ClipText, heard: str) -> Comparison:
    """Compare with the written or the spoken form, whichever is nearer: a lexicon changes how words are spelled."""
    forms = [compare(text.written, heard, text.languages)]
    if text.spoken and forms[0].errors:
        forms.append(compare(text.written, heard, text.languages, spoken=text.spoken))
    return min(forms, key=lambda comparison: (comparison.errors, comparison.cer))
