"""The voices of a run: each is read and encoded once, a few ahead of need, and dropped after its last use.

A separate thread reads, resamples and encodes the next voices while the engine speaks. On CUDA it only reads, because
no other thread may use the device while the engine captures graphs. A voice that can't be read fails every job that
needs it, and no other job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from voxcli import faults
from voxcli.engine.engine import Engine
from voxcli.voices.source import EncodedVoice, ReadVoice, Voiced, VoiceSource, read_source, sources_of

AHEAD = 4  # voices that may be ready before they are needed


class VoicePrefetcher:
    """Provides the voices of jobs, which must be requested in the order given. A context manager.

    encoder: returns the identity of the model's voice encoder; called once, if there is a named voice.
    notify:  receives messages for people.
    """

    def __init__(
        self,
        engine: Engine,
        jobs: Iterable[Voiced],
        *,
        encoder: Callable[[], str],
        notify: Callable[[str], None],
    ):
        self.engine = engine
        self._identity = encoder
        self._notify = notify
        self._uses = Counter(source for job in jobs for source in sources_of(job))
        self._order = iter(list(self._uses))
        self._coming: dict[VoiceSource, Future[EncodedVoice | ReadVoice]] = {}
        self._encoded: dict[VoiceSource, EncodedVoice] = {}
        self._ahead: set[VoiceSource] = set()  # being read or ready, but not requested yet
        self._notified: set[Path] = set()
        self._may_encode_ahead = engine.model.device.type != "cuda"

    def __enter__(self) -> VoicePrefetcher:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="voices")
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def of(self, job: Voiced) -> EncodedVoice:
        """Return the voice of a job; call it once per job. Raises AudioError or InputError if it can't be read."""
        return EncodedVoice.of_parts([self._take(source) for source in sources_of(job)])

    def _take(self, source: VoiceSource) -> EncodedVoice:
        while source not in self._coming and source not in self._encoded:
            self._begin(next(self._order))
        self._ahead.discard(source)
        while len(self._ahead) < AHEAD and (upcoming := next(self._order, None)) is not None:
            self._begin(upcoming)
        encoded = self._encoded.get(source) or self._arrived(source)
        self._uses[source] -= 1
        if not self._uses[source]:
            del self._encoded[source]
        return encoded

    def _begin(self, source: VoiceSource) -> None:
        self._coming[source] = self._thread.submit(self._prepare, source)
        self._ahead.add(source)

    def _arrived(self, source: VoiceSource) -> EncodedVoice:
        found = self._coming[source].result()  # an error stays there for all jobs with this voice
        encoded = found if isinstance(found, EncodedVoice) else found.encoded(self.engine.encode_voice)
        self._encoded[source] = encoded
        del self._coming[source]
        if source.use != "named" and source.path not in self._notified and encoded.notes:
            self._notified.add(source.path)
            self._notify(f"{source.path}: {', '.join(encoded.notes)}")
        return encoded

    def _prepare(self, source: VoiceSource) -> EncodedVoice | ReadVoice:
        """Read, and if possible encode, a voice; runs in the reader thread."""
        faults.point("voice")
        voice = read_source(source, self.engine.model.encoder_rate, lambda: self._encoder)
        if isinstance(voice, ReadVoice) and self._may_encode_ahead:
            return voice.encoded(self.engine.encode_voice)
        return voice

    @cached_property
    def _encoder(self) -> str:
        return self._identity()
