"""The voices of tasks: read and encoded beside the engine's steps, so that no other task waits for them.

On CUDA they are only read there: no other thread may use the device while the engine captures graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from threading import Lock

from voxcli.audio.read import Recording, read_voice
from voxcli.engine.engine import Engine
from voxcli.jobs.job import Job
from voxcli.voices.source import EncodedVoice, VoiceSource, read_named, sources_of
from voxcli.voices.store import Latents

Parts = list[tuple[VoiceSource, EncodedVoice | Recording]]


class VoiceReader:
    """encoder: returns the identity of the model's voice encoder; called once, if there is a named voice."""

    def __init__(self, engine: Engine, encoder: Callable[[], str]):
        self._engine = engine
        self._identity = encoder
        self._lock = Lock()

    def read(self, job: Job) -> Parts:
        """Read a job's voices; for any thread. Raises AudioError or InputError when one can't be used."""
        on_cuda = self._engine.model.device.type == "cuda"
        return [(source, self._read(source, encode=not on_cuda)) for source in sources_of(job)]

    def encoded(self, parts: Parts) -> EncodedVoice:
        """Encode what is not encoded yet; for the engine's thread."""
        return EncodedVoice.of_parts(
            [part if isinstance(part, EncodedVoice) else self._encode(source, part) for source, part in parts]
        )

    def latents(self, recording: Recording, words: bool) -> dict[str, Latents]:
        """Encode a recording for a voice file. words: it can be continued as well, because its words are known."""
        encode = partial(self._engine.encode_voice, recording.samples, key=recording.sha256)
        latents = {"reference": encode(padding="right").numpy()}
        return latents | {"prompt": encode(padding="left").numpy()} if words else latents

    def _read(self, source: VoiceSource, *, encode: bool) -> EncodedVoice | Recording:
        if source.use == "named":
            with self._lock:
                return read_named(source.path, self._encoder)
        recording = read_voice(source.path, self._engine.model.encoder_rate)
        return self._encode(source, recording) if encode else recording

    def _encode(self, source: VoiceSource, recording: Recording) -> EncodedVoice:
        is_reference = source.use == "reference"
        latents = self._engine.encode_voice(
            recording.samples, key=recording.sha256, padding="right" if is_reference else "left"
        ).numpy()
        if is_reference:
            return EncodedVoice(reference=latents, notes=recording.notes)
        return EncodedVoice(prompt=latents, notes=recording.notes)

    @cached_property
    def _encoder(self) -> str:
        return self._identity()
