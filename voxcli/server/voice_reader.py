"""The voices of tasks: read and encoded beside the engine's steps, so that no other task waits for them.

On CUDA they are only read there: no other thread may use the device while the engine captures graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock

from voxcli.audio.read import Recording
from voxcli.engine.engine import Engine
from voxcli.jobs.job import Job
from voxcli.voices.source import EncodedVoice, ReadVoice, Use, VoiceSource, read_source, sources_of
from voxcli.voices.store import Latents

Parts = list[EncodedVoice | ReadVoice]


class VoiceReader:
    """encoder: returns the identity of the model's voice encoder; called once, if there is a named voice."""

    def __init__(self, engine: Engine, encoder: Callable[[], str]):
        self._engine = engine
        self._identity = encoder
        self._lock = Lock()

    def read(self, job: Job) -> Parts:
        """Read a job's voices; for any thread. Raises AudioError or InputError when one can't be used."""
        on_cuda = self._engine.model.device.type == "cuda"
        return [self._read(source, encode=not on_cuda) for source in sources_of(job)]

    def encoded(self, parts: Parts) -> EncodedVoice:
        """Encode what is not encoded yet; for the engine's thread."""
        return EncodedVoice.of_parts(
            [part if isinstance(part, EncodedVoice) else part.encoded(self._engine.encode_voice) for part in parts]
        )

    def latents(self, recording: Recording, words: bool) -> dict[str, Latents]:
        """Encode a recording for a voice file. words: it can be continued as well, because its words are known."""
        uses: tuple[Use, ...] = ("reference", "prompt") if words else ("reference",)
        voice = ReadVoice(recording, uses).encoded(self._engine.encode_voice)
        latents = {"reference": voice.reference, "prompt": voice.prompt}
        return {name: found for name, found in latents.items() if found is not None}

    def _read(self, source: VoiceSource, *, encode: bool) -> EncodedVoice | ReadVoice:
        voice = read_source(source, self._engine.model.encoder_rate, self._encoder)
        return voice.encoded(self._engine.encode_voice) if encode and isinstance(voice, ReadVoice) else voice

    def _encoder(self) -> str:
        with self._lock:
            return self._identity_once

    @cached_property
    def _identity_once(self) -> str:
        return self._identity()
